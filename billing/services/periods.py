"""Billing periods: made when the first fact asks for them, locked while a fact is taken in."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from billing.enums import PeriodState
from billing.models import BillingPeriod
from billing.periods import Span, reaching
from core.locks import lock
from tenants.selectors import organization_by_id

_SHARED = 'SELECT * FROM billing_billingperiod WHERE organization_id = %s AND start <= %s AND "end" > %s FOR SHARE'


def taking_in(*, organization_id: UUID, at: datetime) -> BillingPeriod:
    """The period that a fact of this instant belongs to, under a share lock: the first that is not closed.

    Closing a period takes its row exclusively, so that no fact slips into a period while it closes.
    """
    period = _shared(organization_id, at)
    if period is None:
        _make(organization_id, at)
        period = _shared(organization_id, at)
    if period is None:
        raise RuntimeError(f"The billing periods of {organization_id} leave a gap at {at}.")
    if period.state == PeriodState.CLOSED:
        return taking_in(organization_id=organization_id, at=period.end)
    return period


def _shared(organization_id: UUID, at: datetime) -> BillingPeriod | None:
    found = list(BillingPeriod.objects.raw(_SHARED, [organization_id, at, at]))
    return found[0] if found else None


def _make(organization_id: UUID, at: datetime) -> None:
    """One transaction of an organisation at a time, so that periods made at once leave no gap between them."""
    lock("billing.periods", str(organization_id))
    organization = organization_by_id(organization_id)
    rows = BillingPeriod.objects.filter(organization_id=organization_id).order_by("start")
    known = [Span(row.name, row.start, row.end) for row in rows]
    BillingPeriod.objects.bulk_create(
        [
            BillingPeriod(
                organization_id=organization_id,
                name=span.name,
                start=span.start,
                end=span.end,
                time_zone=organization.time_zone,
                currency=organization.currency,
            )
            for span in reaching(known, instant=at, zone=organization.time_zone)
        ],
        ignore_conflicts=True,
    )
