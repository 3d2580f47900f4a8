"""The months of an organisation, whether a fact has asked for their period or not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from billing.enums import PeriodState
from billing.models import BillingPeriod
from billing.periods import Span, holding, middle_of, reaching
from billing.types import Month
from core.errors import NotFound
from core.types import Actor
from tenants.selectors import organization_of

if TYPE_CHECKING:
    from tenants.models import Organization

EARLIEST, LATEST = "2020-01", "2099-12"


@dataclass(frozen=True, slots=True)
class Window:
    """One month: its instants, and its period where that has been made."""

    span: Span
    period_id: UUID | None
    state: str


def window_of(organization: Organization, month: str) -> Window:
    """The month by its name ("2026-11"). Raises NotFound for what is no month. One query."""
    try:
        instant = middle_of(month)
    except ValueError:
        raise NotFound("month", month) from None
    if not EARLIEST <= month <= LATEST or month != f"{instant:%Y-%m}":
        raise NotFound("month", month)
    return _window(organization, instant)


def current_window(organization: Organization, now: datetime) -> Window:
    """The month that is under way. One query."""
    return _window(organization, now)


def month_start(actor: Actor, now: datetime) -> datetime:
    """When the month under way began for the actor's organisation."""
    return current_window(organization_of(actor), now).span.start


def months_until(organization: Organization, now: datetime) -> list[Month]:
    """Every month from the first that holds a fact until the one under way, newest first. One query."""
    rows = {row.name: row for row in _periods(organization)}
    known = [Span(row.name, row.start, row.end) for row in rows.values()]
    spans = [*known, *reaching(known, instant=now, zone=organization.time_zone)]
    return [
        Month(span.name, span.start, span.end, rows[span.name].state if span.name in rows else PeriodState.OPEN)
        for span in sorted(spans, key=lambda span: span.start, reverse=True)
        if span.start <= now
    ]


def _window(organization: Organization, instant: datetime) -> Window:
    rows = {row.name: row for row in _periods(organization)}
    known = [Span(row.name, row.start, row.end) for row in rows.values()]
    span = holding([*known, *reaching(known, instant=instant, zone=organization.time_zone)], instant)
    row = rows.get(span.name)
    return Window(span, row.pk if row else None, row.state if row else PeriodState.OPEN)


def _periods(organization: Organization) -> list[BillingPeriod]:
    return list(BillingPeriod.objects.filter(organization_id=organization.pk).order_by("start"))
