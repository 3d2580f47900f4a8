"""Holds and quotas put right by whoever knows what lives. The quotas are locked by the caller."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from tenants.models import Project, QuotaHold
from tenants.services.quota_holds import hold, lock_quotas, recount
from tenants.types import Claim, Holder

__all__ = ["hold_exactly", "let_go", "lock_quotas", "recount"]


def hold_exactly(project: Project, claim: Claim, holder: Holder, *, now: datetime) -> None:
    """Make a holder's holds this claim, whatever the limits say: it is so already. `recount` afterwards."""
    mine = QuotaHold.objects.filter(holder_id=holder.id, holder_kind=holder.kind)
    mine.exclude(resource__in=claim.as_dict()).delete()
    hold(project=project, claim=claim, holder=holder, now=now)
    for resource, amount in claim.amounts:
        mine.filter(resource=resource, amount__gt=amount).update(amount=amount)


def let_go(holder_id: UUID, *, kind: str) -> None:
    """Holds of what is not there."""
    QuotaHold.objects.filter(holder_id=holder_id, holder_kind=kind).delete()
