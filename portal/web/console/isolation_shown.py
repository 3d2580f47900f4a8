"""A report as people read it: who met what on which route, and what each table of the database answered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from core.types import Json
from portal.isolation.tables import QUESTIONS
from portal.isolation.verifier import Verdict
from portal.isolation.words import Expected, Outcome
from portal.models import IsolationReport

_SIDES = {"stranger": "Strangers", "platform": "The platform’s people", "anonymous": "Visitor"}
_ROLES = {"project_admin": "project admin", "anonymous": "anybody"}
_QUESTIONS = {
    "secured": "Row-level security forced",
    "owned": "Not owned by the web role",
    "no_context": "Empty without a context",
    "foreign_read": "No foreign row shown",
    "foreign_change": "None changed or removed",
    "foreign_insert": "None taken in",
}
_CHECKS = {
    "web_role_is_weak": "The web role cannot bypass row-level security, make roles or databases",
    "web_role_owns_nothing": "The web role owns no table, function or schema",
    "web_role_becomes_nobody_else": "The web role can become nobody but the platform’s role, which is bound too",
    "login_is_the_web_role": "This installation logs in to its database as the web role",
    "definer_functions_are_fixed": "What runs with its owner’s rights reads from a fixed place and is not for all",
    "keys_stay_inside": "No key between two tenants’ tables leads out of the organisation",
}
_WHY_NOT = {
    "no_object": "the organisation has no such object",
    "elsewhere": "the object lies in another place than the role",
    "no_place": "there is no project to hold the role in",
}


def shown(report: IsolationReport, verdict: Verdict, *, running: str) -> dict[str, object]:
    """What the page shows. `running`: the software's version now, which may be another than the report's."""
    document: dict[str, Json] = json.loads(report.document)
    about, callers = _mapping(document["about"]), [str(name) for name in _items(_mapping(document["about"])["callers"])]
    return {
        "report": report,
        "took": report.ended_at - report.started_at,
        "verdict": verdict,
        "outdated": running if running != report.version else "",
        "login": _mapping(about["database"])["login"],
        "server": _mapping(about["database"])["server"],
        "packages": about["addresses_of_packages"],
        "failures": [_failure(_mapping(one)) for one in _items(document["failures"])],
        "sides": _sides(callers),
        "columns": [{"label": _role(name), "edge": place in _edges(callers)} for place, name in enumerate(callers)],
        "areas": _areas(_mapping(document["routes"]), callers),
        "questions": [_QUESTIONS[name] for name in QUESTIONS],
        "tables": [_table(name, _mapping(row)) for name, row in sorted(_mapping(document["tables"]).items())],
        "roles": [_check(name, str(word)) for name, word in sorted(_mapping(document["roles"]).items())],
        "not_asked": _not_asked(document),
    }


def _sides(callers: Sequence[str]) -> list[dict[str, object]]:
    """Headings above the columns: how many each spans."""
    return [{"label": side, "span": len(list(names))} for side, names in groupby(callers, _side)]


def _edges(callers: Sequence[str]) -> frozenset[int]:
    """Places of the callers with which another side begins."""
    return frozenset(
        place for place, name in enumerate(callers) if place == 0 or _side(name) != _side(callers[place - 1])
    )


def _side(name: str) -> str:
    return next((words for start, words in _SIDES.items() if name.startswith(start)), "Members")


def _role(name: str) -> str:
    role = name.removeprefix("stranger.").removeprefix("platform_")
    return _ROLES.get(role, role)


def _areas(routes: Mapping[str, Json], callers: Sequence[str]) -> list[dict[str, object]]:
    """Routes by the first word of their address: pages first, then the API's."""
    rows = sorted((_area(name), name) for name in routes)
    found = []
    for (_, label), names in groupby(rows, lambda row: row[0]):
        lines = [_route(name, _mapping(routes[name]), callers) for _, name in names]
        outcomes = [cell["outcome"] for line in lines for cell in line["cells"]]  # type: ignore[attr-defined]
        counts = {outcome.value: outcomes.count(outcome.value) for outcome in Outcome}
        found.append({"label": label, "routes": lines, **counts})
    return found


def _area(route: str) -> tuple[bool, str]:
    path = route.partition(" ")[2]
    of_api = path.startswith("/api/")
    word = path.removeprefix("/api/v1").strip("/").partition("/")[0].partition(".")[0]
    words = word.replace("-", " ") or "home"
    return of_api, f"API: {words}" if of_api else words.capitalize()


def _route(name: str, row: Mapping[str, Json], callers: Sequence[str]) -> dict[str, object]:
    method, _, path = name.partition(" ")
    answers, edges = _mapping(row["answers"]), _edges(callers)
    cells = [_cell(str(answers[caller])) if caller in answers else _NOTHING for caller in callers]
    return {
        "method": method,
        "path": path,
        "permission": row["permission"],
        "cells": [{**cell, "edge": place in edges} for place, cell in enumerate(cells)],
    }


_NOTHING = {"outcome": "", "word": "", "why": ""}
_WORDS = {Expected.MAY: "may", Expected.MAY_NOT: "no"}


def _cell(answer: str) -> dict[str, str]:
    outcome, expected, seen = answer.split(" ", 2)
    if outcome == Outcome.NOT_ASKED:
        return {"outcome": outcome, "word": "not asked", "why": _WHY_NOT.get(seen, seen)}
    word = _WORDS[Expected(seen)] if seen in _WORDS else seen
    granted = expected in (Expected.ALLOWED, Expected.MAY)
    return {"outcome": outcome, "word": word, "why": "", "granted": "granted" if granted else ""}


def _table(name: str, row: Mapping[str, Json]) -> dict[str, object]:
    return {"name": name, "cells": [_answer(str(row[question])) for question in QUESTIONS]}


def _check(name: str, answer: str) -> dict[str, str]:
    return {"label": _CHECKS.get(name, name), **_answer(answer)}


def _answer(answer: str) -> dict[str, str]:
    outcome, _, seen = answer.partition(" ")
    return {"outcome": outcome, "seen": _WHY_NOT.get(seen, seen)}


def _failure(row: Mapping[str, Json]) -> dict[str, object]:
    """One line a failure, of a route or of the database."""
    if "route" in row:
        return {"where": row["route"], "who": row["caller"], "what": row["what"], "view": row["view"]}
    where = f"{row['table']}: {_QUESTIONS[str(row['check'])]}" if "table" in row else _CHECKS[str(row["check"])]
    return {"where": where, "who": "the database", "what": row["seen"], "view": ""}


def _not_asked(document: Mapping[str, Json]) -> list[dict[str, object]]:
    """Why questions could not be asked, most frequent first."""
    rows = [row["answers"] for row in map(_mapping, _mapping(document["routes"]).values())]
    parts = [*map(_mapping, rows), *map(_mapping, _mapping(document["tables"]).values())]
    whys = [str(word).split(" ")[-1] for part in parts for word in part.values() if str(word).startswith("not_asked")]
    counted = sorted(((whys.count(why), why) for why in set(whys)), reverse=True)
    return [{"count": count, "why": _WHY_NOT.get(why, why)} for count, why in counted]


def _mapping(part: Json) -> Mapping[str, Json]:
    assert isinstance(part, dict)
    return part


def _items(part: Json) -> Iterable[Json]:
    assert isinstance(part, list)
    return part
