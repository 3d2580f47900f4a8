"""Sealing the audit chains: place and hash, once, in the order of arrival, by one sealer per chain at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from uuid import UUID

from django.db import connection

from core import scope
from core.audit_verifier import FIRST, hash_of
from core.locks import try_lock
from core.models import AuditCut, AuditEvent
from core.types import Json

_AT_ONCE = 500
_FIELDS = (
    "actor_kind",
    "actor_part",
    "verb",
    "object_kind",
    "object_id",
    "object_label",
    "before",
    "after",
    "outcome",
    "reason",
    "source_kind",
    "source_address",
    "request_id",
)
_IDS = ("id", "organization_id", "act_id", "actor_id", "on_behalf_of", "token_id")


def exported(event: AuditEvent) -> dict[str, Json]:
    """The event as exports write it and as its hash covers it: ids and times as text."""
    ids: dict[str, Json] = {name: _text(getattr(event, name)) for name in _IDS}
    content: dict[str, Json] = {name: getattr(event, name) for name in _FIELDS}
    return {
        **ids,
        **content,
        "at": instant(event.at),
        "seq": event.seq,
        "prev_hash": bytes(event.prev_hash).hex() if event.prev_hash is not None else None,
        "hash": bytes(event.hash).hex() if event.hash is not None else None,
    }


def unsealed_chains() -> list[UUID]:
    """Organisations with events that no hash covers yet. Asked outside any scope; ids only."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT steelyard_unsealed_chains()")
        return [row[0] for row in cursor.fetchall()]


def seal(organization_id: UUID) -> int:
    """Seal up to 500 events of one chain; how many it sealed. None where another sealer is at it."""
    with scope.of_organization(organization_id):
        if not try_lock("audit.seal", str(organization_id)):
            return 0
        last = (
            AuditEvent.objects.filter(organization_id=organization_id, seq__isnull=False)
            .order_by("-seq")
            .values_list("seq", "hash")
            .first()
        )
        seq, head = (last[0] or 0, bytes(last[1] or FIRST)) if last else (0, FIRST)
        found = AuditEvent.objects.filter(organization_id=organization_id, seq__isnull=True).order_by("id")[:_AT_ONCE]
        events = list(found)
        for event in events:
            seq += 1
            event.seq, event.prev_hash = seq, head
            head = hash_of(head, exported(event))
            event.hash = head
        _write_places(events)
        return len(events)


def seal_all() -> int:
    """Every chain that waits. Returns the number of events sealed."""
    return sum(seal(organization_id) for organization_id in unsealed_chains())


def chain_of(organization_id: UUID) -> Iterator[dict[str, Json]]:
    """The chain in order, its unsealed tail last. Inside a scope that may see it."""
    for event in entries_after(organization_id, 0):
        yield exported(event)
    for event in AuditEvent.objects.filter(organization_id=organization_id, seq__isnull=True).order_by("id"):
        yield exported(event)


def head_of(organization_id: UUID) -> int:
    """The place of the last sealed entry; 0 where there is none yet."""
    sealed = AuditEvent.objects.filter(organization_id=organization_id, seq__isnull=False)
    return sealed.order_by("-seq").values_list("seq", flat=True).first() or 0


def chains() -> list[UUID]:
    """Every organisation that has entries. In the platform's scope."""
    known = AuditEvent.objects.order_by().values_list("organization_id", flat=True).distinct()
    return sorted(known)


def log_of(organization_id: UUID) -> Iterator[dict[str, Json]]:
    """The chain as the verifier reads it: where its old end was cut, if it was, then every entry."""
    cut = AuditCut.objects.filter(organization_id=organization_id).order_by("-seq").first()
    if cut is not None:
        yield exported_cut(cut)
    yield from chain_of(organization_id)


def entries_after(organization_id: UUID, seq: int, *, at_once: int = 1000) -> Iterator[AuditEvent]:
    """Sealed entries in order, read a piece at a time."""
    rows = AuditEvent.objects.filter(organization_id=organization_id).order_by("seq")
    while True:
        found = list(rows.filter(seq__gt=seq)[:at_once])
        yield from found
        if len(found) < at_once:
            return
        seq = found[-1].seq or 0


def exported_cut(cut: AuditCut) -> dict[str, Json]:
    return {
        "kind": "cut",
        "organization_id": str(cut.organization_id),
        "seq": cut.seq,
        "hash": bytes(cut.hash).hex(),
        "removed": cut.removed,
        "at": instant(cut.cut_at),
        "key": cut.key,
        "signature": cut.signature,
    }


def instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _write_places(events: Sequence[AuditEvent]) -> None:
    """One statement for all of them."""
    columns = ([getattr(event, name) for event in events] for name in ("pk", "seq", "prev_hash", "hash"))
    with connection.cursor() as cursor:
        cursor.execute(_PLACES, list(columns))


_PLACES = """
    UPDATE core_auditevent SET seq = place.seq, prev_hash = place.prev_hash, hash = place.hash
    FROM unnest(%s::uuid[], %s::bigint[], %s::bytea[], %s::bytea[]) AS place(id, seq, prev_hash, hash)
    WHERE core_auditevent.id = place.id
"""


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)
