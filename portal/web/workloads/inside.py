"""The parts of a workload's page that look inside: its pods with what they use, and its cluster's events."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.views.decorators.http import require_GET

from core.routes import route
from core.types import Actor
from provisioning.services.reach import happenings_of, pods_of
from tenants.enums import Permission

_MOST_PODS, _MOST_EVENTS = 100, 50
_TONES = {"running": "good", "done": "good", "failed": "bad", "waiting": "wait", "ending": "wait"}


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.pods_listed", scoped=False)
@require_GET
def pods_part(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Asked of the driver, outside any transaction."""
    found = pods_of(actor=_actor(request), workload_id=workload_id)
    pods = [
        {
            "name": pod.name,
            "part": pod.part,
            "node": pod.node,
            "tone": _TONES.get(pod.state, "off"),
            "word": pod.state.capitalize(),
            "reason": pod.reason,
            "restarts": pod.restarts,
            "cpu": "" if pod.cpu_milli is None else f"{pod.cpu_milli / 1000:.2f}",
            "memory": "" if pod.memory_bytes is None else filesizeformat(pod.memory_bytes),
        }
        for pod in found.pods[:_MOST_PODS]
    ]
    context = {
        "pods": pods,
        "pods_left_out": max(len(found.pods) - _MOST_PODS, 0),
        "unmeasured": found.unmeasured,
        "loaded": True,
        "pods_url": reverse("workload-pods", args=[workload_id]),
    }
    return render(request, "portal/workloads/_pods.html", context)


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.cluster_events_listed", scoped=False)
@require_GET
def happenings_part(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    told = happenings_of(actor=_actor(request), workload_id=workload_id)
    context = {
        "happenings": told[:_MOST_EVENTS],
        "happenings_left_out": max(len(told) - _MOST_EVENTS, 0),
        "loaded": True,
        "happenings_url": reverse("workload-cluster-events", args=[workload_id]),
    }
    return render(request, "portal/workloads/_happenings.html", context)


def inside_context(workload_id: UUID) -> dict[str, object]:
    """Where the two parts are read once the page is there."""
    here = [workload_id]
    return {
        "pods_url": reverse("workload-pods", args=here),
        "happenings_url": reverse("workload-cluster-events", args=here),
    }


def _actor(request: HttpRequest) -> Actor:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor
