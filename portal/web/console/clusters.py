"""Clusters, as whoever operates them sees them: how they stand and are, what they have, what runs there."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from core.routes import route
from portal.web.audit.rows import entries_of
from portal.web.console import frame
from provisioning.enums import ClusterHealth, ClusterStanding, Standing
from provisioning.selectors import clusters as selectors
from provisioning.selectors.clusters import Access, Work
from provisioning.selectors.nodes import stock_of
from tenants.enums import PlatformPermission

if TYPE_CHECKING:
    from provisioning.models import Cluster, Workload

MAY = PlatformPermission.OPERATE_FLEET
MOST_WORKLOADS, MOST_EVENTS = 50, 20
HEALTH_TONES = {ClusterHealth.HEALTHY: "good", ClusterHealth.DEGRADED: "wait", ClusterHealth.UNKNOWN: "off"}
_STATE_TONES = {"running": "good", "queued": "wait", "requested": "wait", "provisioning": "wait"}
_IN_SERVICE = (Standing.IN_SERVICE, Standing.DEGRADED)
OFFERS = {
    "kueue": "Kueue",
    "kuberay": "KubeRay",
    "jobset": "JobSet",
    "dask_operator": "Dask operator",
    "keda": "KEDA",
    "gateway_api": "Gateway API",
}


@route(permission=MAY, verb="cluster.listed", scoped=False)
@require_GET
def cluster_list(request: HttpRequest) -> HttpResponse:
    """Those of the fleet, by slug; a constant number of queries."""
    with frame.across(request, MAY, "cluster.listed"):
        rows = selectors.fleet()
        work = selectors.work_on([row.pk for row in rows])
    context: dict[str, object] = {"clusters": [_row(row, work[row.pk]) for row in rows]}
    return frame.page(request, "portal/console/clusters.html", context)


@route(permission=MAY, verb="cluster.viewed", scoped=False)
@require_GET
def cluster_detail(request: HttpRequest, slug: str) -> HttpResponse:
    return cluster_page(request, slug)


def cluster_page(
    request: HttpRequest, slug: str, *, problems: list[str] | None = None, status: int = 200
) -> HttpResponse:
    """One cluster; `problems`: why credentials that were given were not taken."""
    with frame.across(request, MAY, "cluster.viewed"):
        row = selectors.cluster_by_slug(slug)
        work = selectors.work_on([row.pk])[row.pk]
        access = selectors.access_of([row.pk]).get(row.pk)
        there = [_workload(each) for each in selectors.workloads_on(row, most=MOST_WORKLOADS)]
        ground = _ground(row)
        history = entries_of(selectors.history_of(row, most=MOST_EVENTS), route="console-audit-event")
    context: dict[str, object] = {
        "cluster": _row(row, work),
        "models": stock_of(row).accelerators,
        "nodes": [(Standing(word).value.replace("_", " "), count) for word, count in sorted(work.nodes.items())],
        "access": _access(access),
        "offers": _offers(row),
        "ground": ground,
        "there": there,
        "more": work.running + work.waiting - len(there),
        "history": history,
        "problems": problems or [],
        "may": _acts(row),
    }
    answer = frame.page(request, "portal/console/cluster.html", context)
    answer.status_code = status
    return answer


def _row(row: Cluster, work: Work) -> dict[str, object]:
    standing, health = ClusterStanding(row.standing), ClusterHealth(row.health)
    why = row.health_reason or {}
    return {
        "slug": row.slug,
        "label": row.label,
        "url": reverse("console-cluster", args=[row.slug]),
        "region": row.region.label,
        "standing": standing.value,
        "standing_tone": "good" if standing is ClusterStanding.SERVING else "off",
        "health": health.value,
        "health_tone": HEALTH_TONES.get(health, "bad"),
        "why": why.get("message", ""),
        "ask": why.get("ask", ""),
        "version": row.version,
        "running": work.running,
        "waiting": work.waiting,
        "disks": work.disks,
        "nodes": sum(work.nodes.values()),
        "up": sum(work.nodes.get(word, 0) for word in _IN_SERVICE),
        "checked_at": row.checked_at,
        "listed_at": row.inventory_at,
    }


def _access(access: Access | None) -> dict[str, object]:
    if access is None:
        return {}
    return {
        "server": access.server,
        "storage_class": access.storage_classes.get("standard", ""),
        "changed_at": access.changed_at,
    }


def _offers(row: Cluster) -> dict[str, object]:
    """What it has; nothing where it was never looked at."""
    if not row.offers:
        return {}
    installed = set(row.offers["installed"])
    return {
        **row.offers,
        "installed": [label for name, label in OFFERS.items() if name in installed],
        "absent": [label for name, label in OFFERS.items() if name not in installed],
    }


def _ground(row: Cluster) -> dict[str, object]:
    """What was last proven of its projects' namespaces; nothing where they were never looked at."""
    if row.ground_at is None:
        return {}
    mended, foreign = row.ground.get("mended") or {}, row.ground.get("foreign", [])
    names = selectors.names_of_projects({each["project"] for each in (*mended.get("things", ()), *foreign)})
    return {
        "at": row.ground_at,
        "namespaces": row.ground["namespaces"],
        "mended_at": datetime.fromisoformat(mended["at"]) if mended else None,
        "mended": [_drift(each, names) for each in mended.get("things", ())],
        "foreign": [_drift(each, names) for each in foreign],
    }


def _drift(told: dict[str, str], names: dict[str, str]) -> dict[str, str]:
    return told | {"project": names.get(told["project"], told["project"])}


def _workload(row: Workload) -> dict[str, object]:
    return {
        "name": row.name,
        "kind": row.kind,
        "organization": row.organization.name,
        "url": reverse("console-tenant", args=[row.organization.slug]),
        "project": row.project.slug,
        "shape": row.shape.label,
        "state": row.state,
        "tone": _STATE_TONES.get(row.state, "off"),
        "since": row.state_since,
    }


def _acts(row: Cluster) -> dict[str, bool]:
    standing = row.standing
    here = standing != ClusterStanding.REMOVED
    return {
        "act": here,
        "cordon": standing == ClusterStanding.SERVING,
        "uncordon": standing in (ClusterStanding.CORDONED, ClusterStanding.DRAINING),
        "drain": standing in (ClusterStanding.SERVING, ClusterStanding.CORDONED),
    }
