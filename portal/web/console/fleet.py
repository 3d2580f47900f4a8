"""What the clusters have to give, as whoever operates them sees it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from core.routes import route
from portal.web.console import frame
from provisioning.enums import ClusterHealth, ClusterStanding, Standing
from provisioning.selectors.nodes import ClusterStock, NodeStock, ailing_nodes, cluster_stocks, node_stocks
from tenants.enums import PlatformPermission

PAGE = 200
_MOST_AILING = 100
_MOST_CELLS = 64
_HEALTH_TONES = {ClusterHealth.HEALTHY: "good", ClusterHealth.DEGRADED: "wait", ClusterHealth.UNKNOWN: "off"}
_TONES = {Standing.IN_SERVICE: "good", Standing.DEGRADED: "wait", Standing.CORDONED: "off"}


@route(permission=PlatformPermission.OPERATE_FLEET, verb="fleet.viewed", scoped=False)
@require_GET
def fleet(request: HttpRequest) -> HttpResponse:
    """Sums by cluster, what is out of service and why, then every node; a constant number of queries."""
    after = request.GET.get("cluster", "")[:40], request.GET.get("after", "")[:253]
    with frame.across(request, PlatformPermission.OPERATE_FLEET, "fleet.viewed"):
        clusters = cluster_stocks()
        ailing = ailing_nodes(most=_MOST_AILING)
        nodes = node_stocks(after=after, most=PAGE + 1)
    shown = nodes[:PAGE]
    last = shown[-1] if len(nodes) > PAGE else None
    context: dict[str, object] = {
        "clusters": [_cluster(cluster) for cluster in clusters],
        "models": [line for cluster in clusters if cluster.listed_at for line in _models(cluster)],
        "ailing": [_node(node) for node in ailing],
        "nodes": [_node(node) for node in shown],
        "next": "?" + urlencode({"cluster": last.cluster, "after": last.name}) if last else "",
    }
    return frame.page(request, "portal/console/fleet.html", context)


def _cluster(cluster: ClusterStock) -> dict[str, object]:
    return {
        "label": cluster.label,
        "slug": cluster.slug,
        "version": cluster.version,
        "standing": cluster.standing.value,
        "standing_tone": "good" if cluster.standing is ClusterStanding.SERVING else "off",
        "health": cluster.health.value,
        "health_tone": _HEALTH_TONES.get(cluster.health, "bad"),
        "why": cluster.why,
        "at": cluster.checked_at,
    }


def _models(cluster: ClusterStock) -> list[dict[str, object]]:
    """One line a model; a cluster without accelerators has one line too."""
    return [
        {"cluster": cluster.label, "model": model, "there": there, "out": out, "used": used, "at": cluster.listed_at}
        for model, there, out, used in cluster.accelerators or (("", 0, 0, 0),)
    ]


def _node(node: NodeStock) -> dict[str, object]:
    return {
        "cluster": node.cluster,
        "name": node.name,
        "place": " · ".join(node.place),
        "standing": node.standing.value.replace("_", " "),
        "tone": _TONES.get(node.standing, "bad"),
        "reason": node.reason,
        "accelerators": [
            {
                "label": f"{usable} of {there} {kind} in service" + (f", {used} occupied" if used else ""),
                "cells": _cells(usable, there, used),
            }
            for kind, usable, there, used in node.accelerators
        ],
        "runs": [{"name": name, "organization": owner, "count": count} for name, owner, count in node.runs],
        "others": ", ".join(f"{count} {resource}" for resource, count in node.others),
    }


def _cells(usable: int, there: int, used: int) -> list[str]:
    """A mark for each device; of very many the words alone tell. What runs on a node that takes nothing new goes on."""
    if there > _MOST_CELLS:
        return []
    used = min(used, there)
    free = max(usable - used, 0)
    return ["used"] * used + [""] * free + ["out"] * (there - used - free)
