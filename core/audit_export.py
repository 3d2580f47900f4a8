"""Entries of one chain as files, oldest first, read a piece at a time in short scopes of their own.

JSON Lines holds exactly what the hashes cover, so that a whole export can be given to the verifier. CSV is for
spreadsheets: cells that one would take for a formula are defused.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final
from uuid import UUID

from core.audit_search import Search, matching
from core.models import AuditCut, AuditEvent
from core.scope import Scope
from core.sealing import exported, exported_cut
from core.types import Json

Names = Callable[[Iterable[UUID]], Mapping[UUID, str]]
OpenScope = Callable[[], AbstractContextManager[Scope]]

_AT_ONCE = 500
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_PERSONAL: Final = ("actor_name",)
COLUMNS: Final = (
    "seq",
    "at",
    "actor_kind",
    "actor_id",
    *_PERSONAL,
    "actor_part",
    "on_behalf_of",
    "token_id",
    "verb",
    "object_kind",
    "object_id",
    "object_label",
    "outcome",
    "reason",
    "before",
    "after",
    "source_kind",
    "source_address",
    "request_id",
    "id",
    "hash",
)


def json_lines(organization_id: UUID, search: Search, open_scope: OpenScope) -> Iterator[str]:
    """One entry a line; an export without a filter begins with the chain's cut, where it has one."""
    if search == Search():
        with open_scope():
            cut = AuditCut.objects.filter(organization_id=organization_id).order_by("-seq").first()
        if cut is not None:
            yield _line(exported_cut(cut))
    for rows in _pieces(organization_id, search, open_scope):
        yield "".join(_line(exported(row)) for row in rows)


def csv_lines(organization_id: UUID, search: Search, open_scope: OpenScope, names: Names) -> Iterator[str]:
    """RFC 4180, with the names that people bear today."""
    yield _written([COLUMNS])
    for rows in _pieces(organization_id, search, open_scope):
        with open_scope():
            known = names({row.actor_id for row in rows if row.actor_id})
        yield _written([_cells(row, known) for row in rows])


def _pieces(organization_id: UUID, search: Search, open_scope: OpenScope) -> Iterator[Sequence[AuditEvent]]:
    """Sealed entries by place, then those that wait for it. What is written meanwhile is left out."""
    with open_scope():
        found = matching(organization_id, search)
        last = found.order_by("-seq").filter(seq__isnull=False).values_list("seq", flat=True).first() or 0
        tail = list(found.filter(seq__isnull=True).order_by("id"))
    seq = 0
    while seq < last:
        with open_scope():
            rows = list(found.filter(seq__gt=seq, seq__lte=last).order_by("seq")[:_AT_ONCE])
        if not rows:
            break
        yield rows
        seq = rows[-1].seq or last
    if tail:
        yield tail


def _line(record: Mapping[str, Json]) -> str:
    return json.dumps(record, sort_keys=True, ensure_ascii=False) + "\n"


def _cells(row: AuditEvent, names: Mapping[UUID, str]) -> list[str]:
    values: dict[str, Json] = {**exported(row), "actor_name": names.get(row.actor_id, "") if row.actor_id else ""}
    return [_cell(values[name]) for name in COLUMNS]


def _cell(value: Json) -> str:
    if value is None:
        return ""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _written(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
