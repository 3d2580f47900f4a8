"""What became of a workload: its timeline, its log and its usage."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from billing.selectors import session_costs, usage_sessions_visible_to
from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import FieldError, Invalid
from core.routes import route
from provisioning.api import examples, outputs
from provisioning.api.describing import EventOutput, LogOutput, WorkloadUsageOutput
from provisioning.api.inputs import LogFilters
from provisioning.models import Event
from provisioning.selectors.listing import events_of
from provisioning.selectors.workloads import workload_for
from provisioning.services.reach import log_of
from tenants.enums import Permission
from tenants.permissions import authorize
from tenants.selectors import people_by_id

if TYPE_CHECKING:
    from billing.models import UsageSession


class Events(Endpoint):
    @route(permission=Permission.VIEW_WORKLOAD, verb="workload.events_listed")
    @shape(summary="List a workload's events", output=EventOutput, listed=True, example=examples.EVENT)
    def get(self, request: Request, workload_id: UUID) -> HttpResponse:
        """Its timeline, newest first."""
        return self.page(events_of(workload_for(self.actor, workload_id)), _events)


class Logs(Endpoint):
    @route(permission=Permission.VIEW_WORKLOAD, verb="workload.log_viewed", scoped=False)
    @shape(
        summary="Read a workload's log",
        output=LogOutput,
        filters=LogFilters,
        example={"lines": ["Jupyter Server is running at http://localhost"], "as_of": "2026-11-30T18:00:00Z"},
    )
    def get(self, request: Request, workload_id: UUID) -> HttpResponse:
        """The last lines. Where nothing runs any more: those that were kept when it failed."""
        asked = self.filters(LogFilters)
        if asked.follow:
            raise Invalid([FieldError("follow", "follow_unsupported", "A log cannot be followed yet. Ask again.")])
        lines = log_of(actor=self.actor, workload_id=workload_id, tail=asked.tail)
        return self.answer({"lines": lines, "as_of": self.moment})


class Usage(Endpoint):
    @route(permission=Permission.VIEW_USAGE, verb="workload.usage_listed")
    @shape(summary="List a workload's usage", output=WorkloadUsageOutput, listed=True, example=examples.USAGE)
    def get(self, request: Request, workload_id: UUID) -> HttpResponse:
        """What it held, from when until when, and what that cost."""
        workload = workload_for(self.actor, workload_id)
        authorize(self.actor, Permission.VIEW_USAGE, workload.project)
        return self.page(usage_sessions_visible_to(self.actor).filter(workload_id=workload.pk), self._present)

    def _present(self, rows: Sequence[UsageSession]) -> list[object]:
        costs = session_costs([row.pk for row in rows], self.moment)
        return [outputs.usage(row, cost=costs.get(row.pk, Fraction(0)), now=self.moment) for row in rows]


def _events(rows: Sequence[Event]) -> list[object]:
    people = people_by_id({row.actor_id for row in rows if row.actor_id})
    return [outputs.event(row, people) for row in rows]
