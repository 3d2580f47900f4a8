"""Acts on a cluster that are one button each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from core import scope
from core.routes import route
from core.types import Actor, ObjectRef
from provisioning.selectors.clusters import cluster_by_slug
from provisioning.services import cluster_health, cluster_standing, clusters
from tenants.enums import PlatformPermission
from tenants.permissions import authorize_platform

if TYPE_CHECKING:
    from provisioning.models import Cluster

MAY = PlatformPermission.OPERATE_FLEET


@route(permission=MAY, verb="cluster.checked", scoped=False)
@require_POST
def check(request: HttpRequest, slug: str) -> HttpResponse:
    """Look at it now, outside any transaction."""
    actor, now = allowed(request, slug), timezone.now()
    with scope.of_platform():
        cluster_id = cluster_by_slug(slug).pk
    cluster_health.look_again(cluster_id=cluster_id, now=now)
    with scope.of_platform():
        cluster = cluster_health.note_check(actor=actor, slug=slug, now=now)
    messages.success(request, f"{cluster.label} is {cluster.health}.")
    return redirect("console-cluster", slug)


@route(permission=MAY, verb="cluster.changed", scoped=False)
@require_POST
def change(request: HttpRequest, slug: str) -> HttpResponse:
    storage_class = request.POST.get("storage_class", "").strip()[:253]
    asked = clusters.Change(
        label=request.POST.get("label", ""), storage_classes={"standard": storage_class} if storage_class else {}
    )
    actor = allowed(request, slug)
    with scope.of_platform():
        cluster = clusters.change(actor=actor, slug=slug, change=asked, now=timezone.now())
    messages.success(request, f"{cluster.label} is changed.")
    return redirect("console-cluster", slug)


@route(permission=MAY, verb="cluster.cordoned", scoped=False)
@require_POST
def cordon(request: HttpRequest, slug: str) -> HttpResponse:
    return _act(request, slug, cluster_standing.cordon, "is cordoned: nothing new starts there.")


@route(permission=MAY, verb="cluster.uncordoned", scoped=False)
@require_POST
def uncordon(request: HttpRequest, slug: str) -> HttpResponse:
    return _act(request, slug, cluster_standing.uncordon, "serves again.")


@route(permission=MAY, verb="cluster.draining", scoped=False)
@require_POST
def drain(request: HttpRequest, slug: str) -> HttpResponse:
    return _act(request, slug, cluster_standing.drain, "is being drained: what runs there is stopped.")


@route(permission=MAY, verb="cluster.removed", scoped=False)
@require_POST
def remove(request: HttpRequest, slug: str) -> HttpResponse:
    actor, force = allowed(request, slug), request.POST.get("force") == "yes"
    with scope.of_platform():
        cluster = cluster_standing.remove(actor=actor, slug=slug, force=force, now=timezone.now())
    messages.success(request, f"{cluster.label} is removed. Its credentials are forgotten.")
    return redirect("console-clusters")


def allowed(request: HttpRequest, slug: str) -> Actor:
    """The actor, if it may: a stranger to the console is told of no cluster of that name."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    authorize_platform(actor, MAY, ObjectRef("cluster", slug))
    return actor


def _act(request: HttpRequest, slug: str, act: Callable[..., Cluster], done: str) -> HttpResponse:
    actor = allowed(request, slug)
    with scope.of_platform():
        cluster = act(actor=actor, slug=slug, now=timezone.now())
    messages.success(request, f"{cluster.label} {done}")
    return redirect("console-cluster", slug)
