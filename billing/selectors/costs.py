"""Who used what and what it costs: showback, from the same weights as the invoice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Q, QuerySet

from billing.enums import CostGroup
from billing.models import UsageSession
from billing.rating import amount
from billing.selectors.months import Window, current_window, window_of
from billing.selectors.usage import usage_sessions_visible_to
from billing.selectors.weighing import Weighed, weigh
from billing.tally import Part, table
from billing.types import CostTable, MonthToDate
from core.types import Actor
from tenants.selectors import organization_of, people_by_id

if TYPE_CHECKING:
    from tenants.models import Organization

_COLUMNS: dict[str, tuple[str, ...]] = {
    CostGroup.ORGANIZATION: ("organization_id",),
    CostGroup.PROJECT: ("project_id", "project__slug"),
    CostGroup.USER: ("user_id",),
    CostGroup.WORKLOAD: ("workload_id", "workload_label"),
}
Labels = Callable[[Sequence[object]], str]


def costs(actor: Actor, start: datetime, end: datetime, group_by: CostGroup, *, now: datetime) -> CostTable:
    """What was held in [start, end) and has passed, in the projects whose usage the actor may see."""
    organization = organization_of(actor)
    until = min(end, now)
    rows = list(
        weigh(
            usage_sessions_visible_to(actor).filter(during__overlap=(start, max(start, until))),
            by=[*_COLUMNS[group_by], "component"],
            since=start,
            until=until,
        )
    )
    label = _labels(group_by, organization, rows)
    return table(
        [_part(row, row.key[:-1], label) for row in rows],
        group_by=group_by,
        currency=organization.currency,
        start=start,
        end=end,
        as_of=now,
    )


def month_to_date(actor: Actor, now: datetime, *, month: str | None = None) -> MonthToDate:
    """The month under way (or the one named), by project and by user, of the projects whose usage the actor may see.

    For one who sees every project it equals the draft invoice.
    """
    organization = organization_of(actor)
    window = current_window(organization, now) if month is None else window_of(organization, month)
    by = [*_COLUMNS[CostGroup.PROJECT], *_COLUMNS[CostGroup.USER], "component"]
    rows = list(weigh_window(usage_sessions_visible_to(actor), window, by=by, now=now))

    def view(group_by: CostGroup, columns: slice) -> CostTable:
        label = _labels(group_by, organization, rows, columns)
        parts = [_part(row, row.key[columns], label) for row in rows]
        return table(
            parts,
            group_by=group_by,
            currency=organization.currency,
            start=window.span.start,
            end=window.span.end,
            as_of=now,
        )

    return MonthToDate(
        month=window.span.name,
        start=window.span.start,
        end=window.span.end,
        as_of=now,
        by_project=view(CostGroup.PROJECT, slice(0, 2)),
        by_user=view(CostGroup.USER, slice(2, 3)),
    )


def weigh_window(
    sessions: QuerySet[UsageSession], window: Window, *, by: Sequence[str], now: datetime
) -> list[Weighed]:
    """What a month is charged for: what was held in it, and the facts of closed months that were taken into it."""
    span = window.span
    until = min(span.end, now)
    mine = Q(period_id=window.period_id) if window.period_id else Q(pk__in=[])
    held = Q(during__overlap=(span.start, max(span.start, until)))
    return list(
        weigh(
            sessions.filter(mine | held, period__start__lte=span.start),
            by=by,
            since=span.start,
            until=until,
            period_id=window.period_id,
        )
    )


def _part(row: Weighed, key: Sequence[object], label: Labels) -> Part:
    return Part(
        key=str(key[0] or ""),
        label=label(key),
        component=str(row.key[-1]),
        held=row.held,
        weight=row.weight,
        exact=amount(row.weight, row.unit, row.unit_price),
    )


def _labels(
    group_by: CostGroup, organization: Organization, rows: Sequence[Weighed], columns: slice = slice(0, 1)
) -> Labels:
    """How a group is shown. People's names are looked up now: usage holds their ids alone."""
    if group_by == CostGroup.USER:
        people = people_by_id({UUID(str(key)) for row in rows for key in row.key[columns] if key})
        names = {str(person.pk): person.full_name or person.email for person in people.values()}
        return lambda key: names.get(str(key[0]), "")
    if group_by == CostGroup.ORGANIZATION:
        return lambda key: organization.slug
    return lambda key: str(key[1])
