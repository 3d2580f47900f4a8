"""Raises of quotas that were approved: put in force, and ended at their instant."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import structlog
from django.db import connection

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.errors import Conflict
from core.types import Actor, system_actor
from tenants.enums import ApprovalState
from tenants.models import Approval, Quota
from tenants.quota_rules import limit_at
from tenants.services.quota_holds import lock_quotas

log = structlog.get_logger(__name__)
MOST_AT_ONCE = 500


def follow_approval(approval: Approval, _actor: Actor, now: datetime) -> None:
    """Raise the limit to what was approved, in the transaction that settles it. A limit that is higher by now stays.

    A raise for a time falls back to the limit that stands today.
    """
    if approval.state != ApprovalState.APPROVED:
        return
    asked, until = int(approval.payload["limit"]), approval.payload["until"]
    ends = datetime.fromisoformat(until) if until else None
    if ends is not None and ends <= now:
        raise Conflict("The time that it was asked for is over. It has to be asked anew.", code="expired")
    lock_quotas(approval.organization_id)
    quota = Quota.objects.select_for_update(of=("self",)).get(pk=approval.subject_id)
    stands = limit_at(quota.limit, quota.raised_until, quota.falls_to, now)
    if stands >= asked:
        return
    lasting = quota.falls_to if quota.falls_to is not None else quota.limit
    quota.limit = asked
    quota.raised_until, quota.falls_to = (ends, lasting) if ends else (None, None)
    quota.agreed = None
    quota.version += 1
    quota.save(update_fields=["limit", "raised_until", "falls_to", "agreed", "version"])


def end_raises(*, now: datetime) -> int:
    """Write down what is over. The rules stopped counting it at its instant; what runs is left alone, and billed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM steelyard_quotas_raised_until(%s, %s)", [now, MOST_AT_ONCE])
        due: list[tuple[UUID, UUID]] = cursor.fetchall()
    ended = 0
    for organization_id, quota_id in due:
        try:
            ended += _end(organization_id, quota_id, now)
        except Exception:
            log.exception("quota_raise_not_ended", quota=str(quota_id))
    return ended


def _end(organization_id: UUID, quota_id: UUID, now: datetime) -> bool:
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
        lock_quotas(organization_id)
        quota = Quota.objects.select_for_update(of=("self",)).get(pk=quota_id)
        if quota.falls_to is None or quota.raised_until is None or quota.raised_until > now:
            return False
        before, after = {"limit": quota.limit}, {"limit": quota.falls_to}
        quota.limit, quota.raised_until, quota.falls_to = quota.falls_to, None, None
        quota.version += 1
        quota.save(update_fields=["limit", "raised_until", "falls_to", "version"])
        actor = system_actor("quota sweep", organization_id)
        audit.record(actor, "quota.raise_ended", quota.ref, now=now, before=before, after=after)
        return True
