"""What is left of credit."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import QuerySet, Sum

from billing.enums import GrantKind, UseKind
from billing.invoicing.values import Grant
from billing.models import CreditGrant, CreditUse


def credit_grants(organization_id: UUID) -> QuerySet[CreditGrant]:
    """Its grants, newest first."""
    return CreditGrant.objects.filter(organization_id=organization_id).order_by("-id")


def usable(organization_id: UUID, kind: GrantKind, currency: str) -> list[Grant]:
    """Grants with something left, for the rules to choose among."""
    rows = list(credit_grants(organization_id).filter(kind=kind, currency=currency))
    left = left_by_grant(rows)
    return [Grant(row.pk, row.label, left[row.pk], row.expires_at, row.granted_at) for row in rows if left[row.pk]]


def left_by_grant(grants: Collection[CreditGrant]) -> dict[UUID, Decimal]:
    """What is left of each: given, less what was used, lapsed or came back. Nothing comes back to what has lapsed."""
    uses = CreditUse.objects.filter(grant__in=grants)
    used: dict[UUID, Decimal] = dict(uses.values_list("grant").annotate(sum=Sum("amount")))
    lapsed = set(uses.filter(kind=UseKind.EXPIRED).values_list("grant_id", flat=True))
    return {
        grant.pk: Decimal(0) if grant.pk in lapsed else grant.amount - used.get(grant.pk, Decimal(0))
        for grant in grants
    }


def due_to_lapse(now: datetime) -> list[tuple[UUID, UUID]]:
    """Organisation and id of grants that expired with something left. In the platform's scope."""
    rows = list(CreditGrant.objects.filter(expires_at__lte=now).order_by("id"))
    left = left_by_grant(rows)
    return [(row.organization_id, row.pk) for row in rows if left[row.pk]]
