"""Usage sessions and costs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from billing.api import outputs
from billing.api.inputs import CostFilters, SessionFilters
from billing.api.outputs import CostsOutput, UsageSessionOutput
from billing.enums import CostGroup
from billing.models import UsageSession as UsageSessionRow
from billing.selectors import between, costs, month_start, session_costs, usage_sessions_visible_to
from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import FieldError, Invalid, NotFound
from core.routes import route
from tenants.enums import Permission
from tenants.selectors import people_by_id, project_for

_PROJECT = {"id": "0199aa00-0000-7000-8000-000000000003", "label": "vision"}
_EXAMPLE = {
    "id": "0199aa00-0000-7000-8000-000000000010",
    "project": _PROJECT,
    "user": {"id": "0199aa00-0000-7000-8000-000000000005", "label": "Alice Moreau"},
    "workload": {"id": "0199aa00-0000-7000-8000-000000000004", "label": "notebook", "kind": "workspace"},
    "sku": "gpu-hour/h100/on-demand",
    "component": "accelerator",
    "quantity": "2.000000",
    "from": "2026-11-30T18:00:00Z",
    "to": "2026-11-30T19:30:00Z",
    "duration_seconds": "5400.000000",
    "period": "2026-11",
    "cost": {"amount": "9.30", "currency": "USD"},
    "as_of": "2026-11-30T19:30:00Z",
}
_COSTS_EXAMPLE = {
    "group_by": "project",
    "from": "2026-11-01T00:00:00Z",
    "to": "2026-12-01T00:00:00Z",
    "as_of": "2026-11-30T18:00:00Z",
    "results": [
        {
            "key": "0199aa00-0000-7000-8000-000000000003",
            "label": "vision",
            "running_hours": "1.500000",
            "accelerator_hours": "3.000000",
            "cost": {"amount": "9.30", "currency": "USD"},
        }
    ],
    "total": {"amount": "9.30", "currency": "USD"},
}


class UsageSessions(Endpoint):
    @route(permission=Permission.VIEW_USAGE, verb="usage_session.listed")
    @shape(
        summary="List usage sessions",
        output=UsageSessionOutput,
        filters=SessionFilters,
        listed=True,
        example=_EXAMPLE,
    )
    def get(self, request: Request) -> HttpResponse:
        """What was held at some time in the span, of the projects whose usage you may see."""
        asked = self.filters(SessionFilters)
        rows = between(usage_sessions_visible_to(self.actor), asked.start, asked.end)
        if asked.project:
            rows = rows.filter(project=project_for(self.actor, asked.project))
        if asked.workload:
            rows = rows.filter(workload_id=asked.workload)
        return self.page(rows, self._present)

    def _present(self, rows: Sequence[UsageSessionRow]) -> list[object]:
        cost = session_costs([row.pk for row in rows], self.moment)
        people = people_by_id({row.user_id for row in rows if row.user_id})
        names = {person_id: person.full_name or person.email for person_id, person in people.items()}
        return [
            outputs.usage_session(row, cost=cost.get(row.pk, Fraction(0)), people=names, now=self.moment)
            for row in rows
        ]


class UsageSession(UsageSessions):
    @route(permission=Permission.VIEW_USAGE, verb="usage_session.viewed")
    @shape(summary="Show a usage session", output=UsageSessionOutput, versioned=True, example=_EXAMPLE)
    def get(self, request: Request, session_id: UUID) -> HttpResponse:  # type: ignore[override]
        """It changes once, from open to closed."""
        found = usage_sessions_visible_to(self.actor).filter(pk=session_id).first()
        if found is None:
            raise NotFound("usage_session", session_id)
        return self.one(1 if found.during.upper is None else 2, lambda: self._present([found])[0])


class Costs(Endpoint):
    @route(permission=Permission.VIEW_USAGE, verb="costs.viewed")
    @shape(summary="Sum costs", output=CostsOutput, filters=CostFilters, example=_COSTS_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        """Of the projects whose usage you may see. Without `from` and `to`: the month so far."""
        asked = self.filters(CostFilters)
        start = asked.start or month_start(self.actor, self.moment)
        end = asked.end or max(start, self.moment)
        if end < start:
            raise Invalid([FieldError("to", "before_from", "`to` must not be earlier than `from`.")])
        found = costs(self.actor, start, end, CostGroup(asked.group_by), now=self.moment)
        return self.answer(outputs.costs(found))
