"""What workloads have cost so far."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from fractions import Fraction
from uuid import UUID

from billing.models import UsageSession
from billing.rating import amount
from billing.selectors.weighing import weigh
from billing.types import Cost
from core import scope
from tenants.selectors import organization_by_id


def cost_so_far(workload_ids: Collection[UUID], now: datetime) -> dict[UUID, Cost]:
    """The cost of each workload from its first second until `now`; every id that is asked for is in the answer.

    For the ids of rows that the caller may see. One query, and one more for a workload that has never held anything.
    """
    exact: dict[UUID, Fraction] = {}
    currency = ""
    sessions = UsageSession.objects.filter(workload_id__in=workload_ids)
    for row in weigh(sessions, by=["workload_id"], until=now):
        workload_id = UUID(str(row.key[0]))
        exact[workload_id] = exact.get(workload_id, Fraction(0)) + amount(row.weight, row.unit, row.unit_price)
        currency = row.currency
    if not currency and workload_ids:
        currency = _currency()
    return {asked: Cost(exact.get(asked, Fraction(0)), currency, now) for asked in workload_ids}


def _currency() -> str:
    organization_id = scope.require().organization_id
    return organization_by_id(organization_id).currency if organization_id else ""
