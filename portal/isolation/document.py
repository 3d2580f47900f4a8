"""The report: what was asked and answered, counted, and sealed under the installation's signature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.anchors import signed
from core.sealing import instant
from core.types import Json
from portal.isolation.objects import Objects
from portal.isolation.routes import Address
from portal.isolation.verifier import FORMAT, KIND, digests, written
from portal.isolation.words import Cell, Check, Outcome, Party


@dataclass(frozen=True, slots=True)
class RouteRow:
    """One route with what every caller met."""

    address: Address
    objects: Mapping[str, str | None]
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a run found out."""

    subject: Party
    stranger: Party
    routes: Sequence[RouteRow]
    tables: Mapping[str, Sequence[Check]]
    roles: Sequence[Check]

    @property
    def counts(self) -> dict[str, Counter[Outcome]]:
        return {
            "routes": Counter(cell.outcome for row in self.routes for cell in row.cells),
            "tables": Counter(check.outcome for checks in self.tables.values() for check in checks),
            "roles": Counter(check.outcome for check in self.roles),
        }

    @property
    def total(self) -> Counter[Outcome]:
        return sum(self.counts.values(), Counter())


@dataclass(frozen=True, slots=True)
class About:
    """Which installation, which software, when."""

    id: str
    address: str
    key: str
    version: str
    migrations: Mapping[str, str]
    database: str
    login: str
    started_at: datetime
    ended_at: datetime
    addresses_of_packages: int


def report_of(found: Findings, about: About, *, callers: Sequence[str], objects: Objects) -> bytes:
    """The report as a file, signed."""
    report: dict[str, Json] = {
        "kind": KIND,
        "format": FORMAT,
        "about": _about(found, about, callers, objects),
        "counts": {name: _counted(one) for name, one in {**found.counts, "all": found.total}.items()},
        "failures": list(_failures(found)),
        "routes": {str(row.address): _route(row) for row in found.routes},
        "tables": {table: _checks(checks) for table, checks in found.tables.items()},
        "roles": _checks(found.roles),
    }
    sealed = signed({"kind": KIND, "format": FORMAT, "digests": {**digests(report)}})
    report["seal"] = {name: sealed[name] for name in ("digests", "key", "signature")}
    return written(report)


def _about(found: Findings, about: About, callers: Sequence[str], objects: Objects) -> Json:
    return {
        "id": about.id,
        "installation": {"address": about.address, "key": about.key},
        "software": {"version": about.version, "migrations": {**about.migrations}},
        "database": {"server": about.database, "login": about.login},
        "started_at": instant(about.started_at),
        "ended_at": instant(about.ended_at),
        "organizations": {"subject": _party(found.subject), "stranger": _party(found.stranger)},
        "callers": list(callers),
        "objects": {name: f"{one.kind} {one.value}" for name, one in sorted(objects.found.items())},
        "addresses_of_packages": about.addresses_of_packages,
    }


def _party(party: Party) -> Json:
    return {"id": str(party.id), "slug": party.slug}


def _counted(counter: Mapping[Outcome, int]) -> Json:
    held, failed = counter.get(Outcome.HELD, 0), counter.get(Outcome.FAILED, 0)
    return {"asked": held + failed, "held": held, "failed": failed, "not_asked": counter.get(Outcome.NOT_ASKED, 0)}


def _route(row: RouteRow) -> Json:
    declared = row.address.declared
    return {
        "permission": declared.permission if declared else "",
        "objects": {name: value or "" for name, value in row.objects.items()},
        "answers": {cell.caller.name: cell.compact() for cell in row.cells},
    }


def _checks(checks: Iterable[Check]) -> dict[str, Json]:
    return {check.name: f"{check.outcome} {check.seen}" for check in checks}


def _failures(found: Findings) -> Iterable[Json]:
    for row in found.routes:
        for cell in row.cells:
            if cell.outcome is Outcome.FAILED:
                yield _failed_cell(row, cell)
    for table, checks in found.tables.items():
        for check in checks:
            if check.outcome is Outcome.FAILED:
                yield {"table": table, "check": check.name, "seen": check.seen}
    for check in found.roles:
        if check.outcome is Outcome.FAILED:
            yield {"check": check.name, "seen": check.seen}


def _failed_cell(row: RouteRow, cell: Cell) -> Json:
    declared = row.address.declared
    return {
        "route": str(row.address),
        "view": f"{row.address.callback.__module__}.{getattr(row.address.callback, '__qualname__', '')}",
        "permission": declared.permission if declared else "",
        "objects": {name: value or "" for name, value in row.objects.items()},
        "caller": cell.caller.name,
        "expected": str(cell.expected),
        "seen": cell.seen,
        "what": cell.what,
    }
