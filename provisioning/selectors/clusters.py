"""A cluster as the platform's own people see it: how it is reached, what runs there, what became of it.

All but `access_of` and `access_manifest` in the platform's scope, after authorising.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import yaml
from django.db.models import Count, Q

from core.errors import NotFound
from core.models import AuditEvent
from core.types import Actor
from provisioning.drivers.kubernetes.rights import access
from provisioning.drivers.places import LOCAL
from provisioning.enums import MAY_RUN, ClusterStanding, State, VolumeState
from provisioning.models import Cluster, ClusterAccess, Node, Volume, Workload
from tenants.enums import PlatformPermission
from tenants.permissions import platform_permissions_on

WAITING = (State.REQUESTED, State.QUEUED)
DISKS = (VolumeState.PRESENT, VolumeState.KEPT)


@dataclass(frozen=True, slots=True)
class Access:
    """How a cluster is reached, without what is secret."""

    server: str
    storage_classes: Mapping[str, str]
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Work:
    """How much of it a cluster has; nodes by standing."""

    running: int = 0
    waiting: int = 0
    disks: int = 0
    nodes: Mapping[str, int] = field(default_factory=dict)


def runs_the_fleet(actor: Actor) -> bool:
    return PlatformPermission.OPERATE_FLEET in platform_permissions_on(actor)


def fleet() -> list[Cluster]:
    """Clusters that are reached over the network and still in the fleet."""
    rows = Cluster.objects.exclude(driver=LOCAL.driver).exclude(standing=ClusterStanding.REMOVED)
    return list(rows.select_related("region").order_by("slug"))


def cluster_by_slug(slug: str) -> Cluster:
    """One of the fleet, or one that was. Raises NotFound; this machine is none."""
    found = Cluster.objects.exclude(driver=LOCAL.driver).select_related("region").filter(slug=slug).first()
    if found is None:
        raise NotFound("cluster", slug)
    return found


def slug_of(cluster_id: UUID) -> str:
    found = Cluster.objects.filter(pk=cluster_id).values_list("slug", flat=True).first()
    if found is None:
        raise NotFound("cluster", cluster_id)
    return found


def access_of(cluster_ids: Collection[UUID]) -> dict[UUID, Access]:
    """One query, which reads no secret; none for this machine and for what was removed."""
    rows = ClusterAccess.objects.filter(cluster__in=cluster_ids)
    columns = ("cluster_id", "server", "storage_classes", "changed_at")
    return {key: Access(*told) for key, *told in rows.values_list(*columns)}


def access_manifest() -> str:
    """What the cluster's administrator applies so that the platform gets in: YAML."""
    return str(yaml.safe_dump_all(access(), sort_keys=False))


def work_on(cluster_ids: Collection[UUID]) -> dict[UUID, Work]:
    """Three queries, however many clusters."""
    running, waiting = Q(state__in=MAY_RUN), Q(state__in=WAITING)
    rows = Workload.objects.filter(running | waiting, cluster__in=cluster_ids).values("cluster")
    counted = rows.annotate(running=Count("pk", filter=running), waiting=Count("pk", filter=waiting))
    work = {row["cluster"]: (row["running"], row["waiting"]) for row in counted}
    kept = Volume.objects.filter(cluster__in=cluster_ids, state__in=DISKS).values("cluster")
    disks = {row["cluster"]: row["n"] for row in kept.annotate(n=Count("pk"))}
    nodes: dict[UUID, dict[str, int]] = {}
    there = Node.objects.filter(cluster__in=cluster_ids, gone_at=None).values("cluster", "standing")
    for row in there.annotate(n=Count("pk")):
        nodes.setdefault(row["cluster"], {})[row["standing"]] = row["n"]
    return {one: Work(*work.get(one, (0, 0)), disks.get(one, 0), nodes.get(one, {})) for one in cluster_ids}


def workloads_on(cluster: Cluster, *, most: int) -> list[Workload]:
    """What runs and what waits there, of every organisation; what runs first, then the newest."""
    rows = Workload.objects.filter(cluster=cluster, state__in=(*MAY_RUN, *WAITING))
    return list(rows.select_related("organization", "project", "shape").order_by("-placed_at", "-pk")[:most])


def history_of(cluster: Cluster, *, most: int) -> list[AuditEvent]:
    """What was done to it and found about it, newest first."""
    rows = AuditEvent.objects.filter(object_kind="cluster", object_id=str(cluster.pk))
    return list(rows.exclude(verb="cluster.viewed").order_by("-pk")[:most])


def names_of_projects(ids: Collection[str]) -> dict[str, str]:
    """organisation/project by id, of those that have had a workload. In the platform's scope."""
    found = Workload.objects.filter(project_id__in=ids).order_by().distinct()
    rows = found.values_list("project_id", "organization__slug", "project__slug")
    return {str(key): f"{organization}/{slug}" for key, organization, slug in rows}
