"""Audit entries in the words of pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.urls import reverse

from core.models import AuditEvent, Outcome
from core.types import ActorKind
from portal.audit_filters import as_uuid
from tenants.selectors.names import names_of

OUTCOMES = {
    Outcome.DONE: ("done", "good"),
    Outcome.DENIED: ("denied", "bad"),
    Outcome.FAILED: ("failed", "wait"),
}
_PEOPLE = frozenset({"person", "user", "service_account", "member"})
_PAGES: dict[str, Callable[[str], str]] = {
    "workload": lambda found: reverse("workload", args=[found]),
    "volume": lambda _: reverse("volumes"),
    "quota": lambda _: reverse("quotas"),
    "token": lambda _: reverse("tokens"),
    "audit_stream": lambda _: reverse("audit-streams"),
}
"""Objects that have a page of their own, or stand on one."""


@dataclass(frozen=True, slots=True)
class Change:
    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the log."""

    id: UUID
    url: str
    at: datetime
    actor: str
    actor_note: str
    verb: str
    object: str
    object_url: str
    outcome: str
    tone: str
    source: str
    address: str
    reason: str
    changes: Sequence[Change]


def entries_of(rows: Sequence[AuditEvent], *, route: str = "audit-event") -> list[Entry]:
    """Lines for a page of rows; one question for all the names."""
    names = names_of(people_in(rows))
    return [entry_of(row, names, route=route) for row in rows]


def people_in(rows: Iterable[AuditEvent]) -> set[UUID]:
    return {one for row in rows for one in (row.actor_id, row.on_behalf_of, _subject(row)) if one}


def entry_of(row: AuditEvent, names: Mapping[UUID, str], *, route: str = "audit-event") -> Entry:
    word, tone = OUTCOMES[Outcome(row.outcome)]
    return Entry(
        id=row.pk,
        url=reverse(route, args=[row.pk]),
        at=row.at,
        actor=actor_words(row, names),
        actor_note=note_on_actor(row, names),
        verb=row.verb,
        object=object_words(row, names),
        object_url=object_url(row),
        outcome=word,
        tone=tone,
        source=row.source_kind,
        address=row.source_address,
        reason=str((row.reason or {}).get("message", "")),
        changes=changes_of(row),
    )


def actor_words(row: AuditEvent, names: Mapping[UUID, str]) -> str:
    if row.actor_id:
        return names.get(row.actor_id, "") or f"unknown, {row.actor_id}"
    return "Somebody not signed in" if row.actor_kind == ActorKind.ANONYMOUS else "Steelyard"


def note_on_actor(row: AuditEvent, names: Mapping[UUID, str]) -> str:
    if row.on_behalf_of:
        return f"for {names.get(row.on_behalf_of, '') or row.on_behalf_of}"
    if row.actor_kind == ActorKind.SERVICE_ACCOUNT:
        return "service account"
    return row.actor_part


def object_words(row: AuditEvent, names: Mapping[UUID, str]) -> str:
    """The kind, and the name that the object had then; a person's is the one of today."""
    subject = _subject(row)
    label = (names.get(subject, "") if subject else "") or row.object_label or row.object_id
    return f"{row.object_kind.replace('_', ' ')} {label}".strip()


def object_url(row: AuditEvent) -> str:
    page = _PAGES.get(row.object_kind)
    return page(row.object_id) if page and as_uuid(row.object_id) else ""


def changes_of(row: AuditEvent) -> list[Change]:
    """What stood in each field before and after; for denials and reads there is nothing."""
    before: dict[str, object] = row.before or {}
    after: dict[str, object] = row.after or {}
    return [Change(field, _shown(before.get(field)), _shown(after.get(field))) for field in sorted({*before, *after})]


def _subject(row: AuditEvent) -> UUID | None:
    """The person that an entry is about, where it is about one."""
    return as_uuid(row.object_id) if row.object_kind in _PEOPLE else None


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(_shown(one) for one in value) or "none"
        case dict():
            return ", ".join(f"{name}: {_shown(one)}" for name, one in value.items()) or "none"
        case _:
            return str(value)
