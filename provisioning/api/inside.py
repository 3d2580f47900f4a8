"""What is inside a workload: its pods, and what its cluster says of them."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.routes import route
from provisioning.services import reach
from tenants.enums import Permission


class PodOutput(serializers.Serializer[object]):
    name = serializers.CharField()
    part = serializers.CharField(help_text="Which worker, node or task; empty where it is the only one.")
    node = serializers.CharField()
    state = serializers.CharField(help_text="waiting, running, ending, done or failed.")
    reason = serializers.CharField()
    restarts = serializers.IntegerField()
    started_at = serializers.DateTimeField(allow_null=True)
    cpu_milli = serializers.IntegerField(allow_null=True, help_text="Thousandths of a processor that it uses now.")
    memory_bytes = serializers.IntegerField(allow_null=True)


class PodsOutput(serializers.Serializer[object]):
    pods = PodOutput(many=True)
    unmeasured = serializers.CharField(help_text="Why nothing is said of what they use; empty where it is said.")
    as_of = serializers.DateTimeField()


class HappeningOutput(serializers.Serializer[object]):
    at = serializers.DateTimeField()
    about = serializers.CharField(help_text="Kind and name of the object.")
    reason = serializers.CharField()
    message = serializers.CharField()
    warning = serializers.BooleanField()
    count = serializers.IntegerField()


class HappeningsOutput(serializers.Serializer[object]):
    events = HappeningOutput(many=True)
    as_of = serializers.DateTimeField()


class Pods(Endpoint):
    @route(permission=Permission.VIEW_WORKLOAD, verb="workload.pods_listed", scoped=False)
    @shape(
        summary="List a workload's pods",
        output=PodsOutput,
        example={
            "pods": [
                {
                    "name": "job-0199aa00-0-x7k2p",
                    "part": "worker 0",
                    "node": "gpu-003",
                    "state": "running",
                    "reason": "",
                    "restarts": 0,
                    "started_at": "2026-11-30T18:00:00Z",
                    "cpu_milli": 15200,
                    "memory_bytes": 68719476736,
                }
            ],
            "unmeasured": "",
            "as_of": "2026-11-30T18:40:00Z",
        },
    )
    def get(self, request: Request, workload_id: UUID) -> HttpResponse:
        """Those that are there now. On the platform's own machine: its processes."""
        found = reach.pods_of(actor=self.actor, workload_id=workload_id)
        pods = [
            {
                "name": each.name,
                "part": each.part,
                "node": each.node,
                "state": each.state,
                "reason": each.reason,
                "restarts": each.restarts,
                "started_at": each.started_at,
                "cpu_milli": each.cpu_milli,
                "memory_bytes": each.memory_bytes,
            }
            for each in found.pods
        ]
        return self.answer({"pods": pods, "unmeasured": found.unmeasured, "as_of": self.moment})


class ClusterEvents(Endpoint):
    @route(permission=Permission.VIEW_WORKLOAD, verb="workload.cluster_events_listed", scoped=False)
    @shape(
        summary="List what a workload's cluster says of it",
        output=HappeningsOutput,
        example={
            "events": [
                {
                    "at": "2026-11-30T18:00:00Z",
                    "about": "Pod job-0199aa00-0-x7k2p",
                    "reason": "FailedScheduling",
                    "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
                    "warning": True,
                    "count": 4,
                }
            ],
            "as_of": "2026-11-30T18:40:00Z",
        },
    )
    def get(self, request: Request, workload_id: UUID) -> HttpResponse:
        """The newest first, 500 at most. Those of runs that have ended are kept as long as the workload is."""
        told = reach.happenings_of(actor=self.actor, workload_id=workload_id)
        events = [
            {
                "at": each.at,
                "about": each.about,
                "reason": each.reason,
                "message": each.message,
                "warning": each.warning,
                "count": each.count,
            }
            for each in told
        ]
        return self.answer({"events": events, "as_of": self.moment})
