"""What the books say is held now, across organisations: for the platform's scope."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from billing.models import UsageSession
from billing.types import MICRO


@dataclass(frozen=True, slots=True)
class Held:
    """One open session."""

    id: UUID
    organization_id: UUID
    workload_id: UUID
    component: str
    sku_code: str
    units: int
    since: datetime


def held_now() -> Iterator[Held]:
    """Every open session of every organisation. One query."""
    for row in UsageSession.objects.filter(during__upper_inf=True).select_related("sku").iterator():
        yield Held(
            id=row.pk,
            organization_id=row.organization_id,
            workload_id=row.workload_id,
            component=row.component,
            sku_code=row.sku.code,
            units=row.quantity_micro // MICRO,
            since=row.during.lower,
        )
