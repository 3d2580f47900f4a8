"""Clusters taken out of service and out of the fleet, and what follows for the work on them.

One lock order: a workload, then its cluster. An act here locks the cluster alone; what follows for workloads is done
afterwards, each in a transaction of its own, and again by the sweep until it is so.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.db import transaction

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.errors import Refused
from core.queue import enqueue_on_commit
from core.types import Actor, Json, Reason, system_actor
from provisioning.enums import MAY_RUN, ClusterStanding, State, TaskName
from provisioning.models import Cluster, ClusterAccess, Node, Volume, Workload
from provisioning.services import awaiting, inventory, lost_disks
from provisioning.services.clusters import locked_cluster, ref_of
from provisioning.services.transitions import locked, transition
from provisioning.services.wishes import end
from provisioning.types import Move

MOST_NAMED: Final = 100
_PENDING: Final = (State.REQUESTED, State.QUEUED)
_PLACED: Final = (State.PROVISIONING, State.RUNNING)


@transaction.atomic
def cordon(*, actor: Actor, slug: str, now: datetime) -> Cluster:
    """Nothing new starts there; what runs goes on until it ends. All these acts: in the platform's scope."""
    return _set(actor, slug, ClusterStanding.CORDONED, "cluster.cordoned", now)


@transaction.atomic
def uncordon(*, actor: Actor, slug: str, now: datetime) -> Cluster:
    """It serves again; what waits there has its turn."""
    return _set(actor, slug, ClusterStanding.SERVING, "cluster.uncordoned", now)


@transaction.atomic
def drain(*, actor: Actor, slug: str, now: datetime) -> Cluster:
    """Nothing new starts there, and what runs is stopped; its disks stay."""
    return _set(actor, slug, ClusterStanding.DRAINING, "cluster.draining", now)


@transaction.atomic
def remove(*, actor: Actor, slug: str, force: bool = False, now: datetime) -> Cluster:
    """Take it out of the fleet and forget its credentials. What waits for it fails, and says why.

    Refused while something is left there, unless forced: then what is left is recorded as a leak. Nothing can start in
    between: a start holds the cluster's lock, as this does.
    """
    cluster = locked_cluster(actor, slug)
    left = _left(cluster)
    if left and not force:
        raise Refused([_in_use(cluster, left)], ref=ref_of(cluster))
    before: dict[str, Json] = {"standing": str(cluster.standing)}
    cluster.standing, cluster.standing_since, cluster.active = ClusterStanding.REMOVED, now, False
    cluster.save(update_fields=["standing", "standing_since", "active"])
    ClusterAccess.objects.filter(cluster=cluster).delete()
    after: dict[str, Json] = {"standing": str(cluster.standing), "leaked": left}
    audit.record(actor, "cluster.removed", ref_of(cluster), now=now, before=before, after=after)
    enqueue_on_commit(TaskName.SWEEP_CLUSTERS)
    return cluster


def follow(*, now: datetime) -> int:
    """Make the work on clusters follow their standing. Idempotent; returns how many workloads were moved."""
    with scope.of_platform():
        clusters = list(Cluster.objects.filter(standing__in=(ClusterStanding.DRAINING, ClusterStanding.REMOVED)))
        found = [
            (workload, cluster)
            for cluster in clusters
            for workload in Workload.objects.filter(
                cluster=cluster, state__in=_PENDING if _is_removed(cluster) else _PLACED
            )
        ]
        emptied = [each.pk for each in clusters if _is_removed(each)]
        nodes_of = set(Node.objects.filter(cluster__in=emptied, gone_at=None).values_list("cluster_id", flat=True))
    for cluster_id in nodes_of:
        inventory.take_inventory(cluster_id=cluster_id, nodes=(), now=now)
    for cluster in clusters:
        if _is_removed(cluster):
            lost_disks.write_off(cluster, now=now)
    return sum(_follow(workload, cluster, now) for workload, cluster in found)


def _follow(found: Workload, cluster: Cluster, now: datetime) -> bool:
    actor = system_actor("cluster sweep", found.organization_id)
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(found.organization_id):
        workload = locked(found.pk)
        if workload is None or workload.state not in (_PENDING if _is_removed(cluster) else _PLACED):
            return False
        if not _is_removed(cluster):
            message = f"Stopped: the cluster {cluster.slug} is being drained. Its disk stays."
            reason = Reason("cluster_draining", message, ask="the platform team")
            end(workload, verb="workload.drained", message=message, reason=reason, actor=actor, now=now)
            return True
        awaiting.give_up(workload, now=now)
        reason = Reason("cluster_removed", f"The cluster {cluster.slug} was removed before it could start.")
        move = Move(verb="workload.failed", message=reason.message, to=(State.FAILED,), reason=reason)
        transition(workload, move, actor=actor, now=now)
        return True


def _set(actor: Actor, slug: str, standing: ClusterStanding, verb: str, now: datetime) -> Cluster:
    cluster = locked_cluster(actor, slug)
    before: dict[str, Json] = {"standing": str(cluster.standing)}
    cluster.standing, cluster.standing_since = standing, now
    cluster.save(update_fields=["standing", "standing_since"])
    audit.record(actor, verb, ref_of(cluster), now=now, before=before, after={"standing": str(standing)})
    enqueue_on_commit(TaskName.SWEEP_CLUSTERS)
    return cluster


def _left(cluster: Cluster) -> dict[str, Json]:
    """What would be left there; empty where nothing is."""
    workloads = Workload.objects.filter(cluster=cluster, state__in=MAY_RUN).order_by("pk")
    disks = Volume.objects.filter(cluster=cluster, state__in=lost_disks.DISKS)
    running, kept = workloads.count(), disks.count()
    if not running and not kept:
        return {}
    named: list[Json] = [str(each) for each in workloads.values_list("pk", flat=True)[:MOST_NAMED]]
    return {"running": running, "disks": kept, "workloads": named}


def _in_use(cluster: Cluster, left: dict[str, Json]) -> Reason:
    message = f"{left['running']} running workloads and {left['disks']} disks are left on {cluster.slug}."
    return Reason("cluster_in_use", f"{message} Drain it first, or remove it by force: what is left is then a leak.")


def _is_removed(cluster: Cluster) -> bool:
    return cluster.standing == ClusterStanding.REMOVED
