"""The old end of a chain, removed by the organisation's rule: what is left still proves that nothing else is gone."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.anchors import signed
from core.locks import try_lock
from core.models import AuditCut, AuditEvent, AuditRetention, AuditStream
from core.sealing import instant
from core.types import Json, ObjectRef, system_actor

_AT_ONCE = 10_000


def organizations_with_a_limit() -> list[UUID]:
    """Those that keep their audit entries for a time only. Asked outside any scope; ids only."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT steelyard_audit_retentions()")
        return [row[0] for row in cursor.fetchall()]


def cut_all(*, now: datetime) -> int:
    """Cut every chain that has a limit; how many entries went."""
    return sum(cut(organization_id, now=now) for organization_id in organizations_with_a_limit())


def cut(organization_id: UUID, *, now: datetime) -> int:
    """Remove sealed entries that are older than the rule allows, up to 10,000 at once; never the chain's head.

    An entry that is older by its time but was chained after a younger one stays until that one goes, and so does what
    a working stream has not delivered yet.
    """
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
        keep = AuditRetention.objects.filter(organization_id=organization_id).first()
        if keep is None or not try_lock("audit.seal", str(organization_id)):
            return 0
        last = _last_to_go(organization_id, before=now - timedelta(days=keep.keep_days))
        if last is None or last.seq is None or last.hash is None:
            return 0
        rows = AuditEvent.objects.filter(organization_id=organization_id, seq__lte=last.seq)
        removed = rows.count()
        _write_cut(last, removed, now)
        rows.delete()
        actor = system_actor("retention", organization_id)
        after: dict[str, Json] = {"removed": removed, "up_to": last.seq, "keep_days": keep.keep_days}
        audit.record(actor, "audit.cut", ObjectRef("audit", str(organization_id)), now=now, after=after)
        return removed


def _last_to_go(organization_id: UUID, *, before: datetime) -> AuditEvent | None:
    rows = AuditEvent.objects.filter(organization_id=organization_id, seq__isnull=False)
    head = rows.order_by("-seq").values_list("seq", flat=True).first()
    undelivered = AuditStream.objects.filter(organization_id=organization_id, enabled=True, paused_reason="")
    delivered = undelivered.order_by("cursor").values_list("cursor", flat=True).first()
    rows = rows.filter(seq__lte=delivered) if delivered is not None else rows
    oldest = list(rows.order_by("seq").exclude(seq=head)[:_AT_ONCE])
    old = 0
    while old < len(oldest) and oldest[old].at < before:
        old += 1
    return oldest[old - 1] if old else None


def _write_cut(last: AuditEvent, removed: int, now: datetime) -> None:
    assert last.hash is not None
    record = signed(
        {
            "kind": "cut",
            "organization_id": str(last.organization_id),
            "seq": last.seq,
            "hash": bytes(last.hash).hex(),
            "removed": removed,
            "at": instant(now),
        }
    )
    AuditCut.objects.create(
        organization_id=last.organization_id,
        seq=last.seq or 0,
        hash=last.hash,
        removed=removed,
        cut_at=now,
        key=str(record["key"]),
        signature=str(record["signature"]),
    )
