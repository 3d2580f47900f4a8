"""What became of a workload: its timeline, its log and its usage."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from billing.selectors import session_costs, usage_sessions_visible_to
from core.api.endpoint import Answer, Endpoint
from core.api.shapes import shape
from core.routes import route
from provisioning.api import examples, outputs
from provisioning.api.describing import EventOutput, LogOutput, ManifestsOutput, StreamOutput, WorkloadUsageOutput
from provisioning.api.inputs import EventFilters, LogFilters
from provisioning.enums import Purpose
from provisioning.models import Event
from provisioning.selectors.listing import event_facts, events_of
from provisioning.selectors.workloads import workload_for
from provisioning.services import following
from provisioning.services.listening import MOST_EVENTS
from provisioning.services.manifests import manifests_of
from provisioning.services.reach import log_of
from provisioning.types import LogOf
from tenants.enums import Permission
from tenants.permissions import authorize
from tenants.selectors import people_by_id

if TYPE_CHECKING:
    from billing.models import UsageSession


_LED = "With `follow=true`: `Location` leads to the stream at the workload's own origin, once, within 30 seconds."


class Followed(Endpoint):
    """Leads to a stream, which needs no credential any more: the address carries a code that works once."""

    def led(self, workload_id: UUID, purpose: Purpose, *, tail: int) -> HttpResponse:
        found = following.follow(actor=self.actor, workload_id=workload_id, purpose=purpose, tail=tail, now=self.moment)
        headers = {"Location": found.url, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
        return Answer({"expires_at": found.expires_at}, status=307, headers=headers)


class Events(Followed):
    @route(permission=Permission.VIEW_WORKLOAD, verb="workload.events_listed", also="workload.followed")
    @shape(
        summary="List or follow a workload's events",
        output=EventOutput,
        filters=EventFilters,
        listed=True,
        example=examples.EVENT,
        answers={307: _LED},
        other_outputs={307: StreamOutput},
    )
    def get(self, request: Request, workload_id: UUID) -> HttpResponse:
        """Its timeline, newest first.

        `follow=true` leads to a stream of server-sent events instead: the last 200, oldest first, then each as it
        happens, until the workload is deleted. `Last-Event-ID` means nothing there, since an address works once: ask
        here again after a break, and skip the ids that you have seen.
        """
        if self.filters(EventFilters).follow:
            return self.led(workload_id, Purpose.EVENTS, tail=MOST_EVENTS)
        return self.page(events_of(workload_for(self.actor, workload_id)), _events)


class Logs(Followed):
    @route(permission=Permission.VIEW_WORKLOAD, verb="workload.log_viewed", also="workload.followed", scoped=False)
    @shape(
        summary="Read or follow a workload's log",
        output=LogOutput,
        filters=LogFilters,
        example={"lines": ["Jupyter Server is running at http://localhost"], "as_of": "2026-11-30T18:00:00Z"},
        answers={307: _LED},
        other_outputs={307: StreamOutput},
    )
    def get(self, request: Request, workload_id: UUID) -> HttpResponse:
        """The last lines. Where nothing runs any more: those that were kept when it ended.

        `attempt=2` gives those of a job's second attempt, `task=3` those of an array's task 3.

        `follow=true` leads to a stream of plain text instead: the last lines, then each as it comes, until the run is
        over.
        """
        asked = self.filters(LogFilters)
        if asked.follow:
            return self.led(workload_id, Purpose.LOGS, tail=asked.tail)
        of = LogOf(attempt=asked.attempt, task=asked.task)
        lines = log_of(actor=self.actor, workload_id=workload_id, tail=asked.tail, of=of)
        return self.answer({"lines": lines, "as_of": self.moment})


class Manifests(Endpoint):
    @route(permission=Permission.VIEW_WORKLOAD, verb="workload.manifests_viewed")
    @shape(summary="Export a workload's manifests", output=ManifestsOutput, example=examples.MANIFESTS)
    def get(self, request: Request, workload_id: UUID) -> HttpResponse:
        """Plain Kubernetes objects that run on any cluster without the platform: `kubectl apply -f -` takes the answer.

        The environment variables of its owner are there for the owner alone.
        """
        items = manifests_of(actor=self.actor, workload_id=workload_id)
        return self.answer({"apiVersion": "v1", "kind": "List", "items": items})


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
    return [event_facts(row, people) for row in rows]
