"""Tasks: parse, one call. Sent by name; unknown arguments are tolerated, so that old workers survive a deploy."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from core import scope
from core.queue import enqueue_on_commit
from provisioning.drivers.registry import driver_at
from provisioning.enums import TaskName
from provisioning.reconciler import grounds, reconcile, sweeping
from provisioning.selectors.specs import places_in_use
from provisioning.services import awaiting, cluster_health, cluster_standing, ledger_leaks, quota_drift
from provisioning.services.entries import forget_expired
from tenants.services.quota_raises import end_raises


@shared_task(name=TaskName.RECONCILE_WORKLOAD, acks_late=True)
def reconcile_workload(*, organization_id: str, workload_id: str, **_: object) -> None:
    reconcile(
        organization_id=UUID(organization_id),
        workload_id=UUID(workload_id),
        drivers=driver_at,
        clock=timezone.now,
    )


@shared_task(name=TaskName.APPROVAL_SETTLED, acks_late=True)
def approval_settled(*, organization_id: str, workload_id: str, **_: object) -> None:
    _look_again(organization_id, workload_id)


@shared_task(name=TaskName.QUOTA_RETURNED, acks_late=True)
def quota_returned(*, organization_id: str, workload_id: str, **_: object) -> None:
    _look_again(organization_id, workload_id)


def _look_again(organization_id: str, workload_id: str) -> None:
    awaiting.look_again(organization_id=UUID(organization_id), workload_id=UUID(workload_id), now=timezone.now())
    reconcile(
        organization_id=UUID(organization_id),
        workload_id=UUID(workload_id),
        drivers=driver_at,
        clock=timezone.now,
    )


@shared_task(name=TaskName.SWEEP_WORKLOADS)
def sweep_workloads(**_: object) -> None:
    sweeping.sweep_workloads(drivers=driver_at, clock=timezone.now)


@shared_task(name=TaskName.SWEEP_RUNS)
def sweep_runs(**_: object) -> None:
    sweeping.sweep_runs(drivers=driver_at, clock=timezone.now)


@shared_task(name=TaskName.SWEEP_ACTIVITY)
def sweep_activity(**_: object) -> None:
    sweeping.sweep_activity(drivers=driver_at, clock=timezone.now)


@shared_task(name=TaskName.SWEEP_STRAYS)
def sweep_strays(**_: object) -> None:
    for place in places_in_use():
        sweeping.sweep_strays(place=place, drivers=driver_at, clock=timezone.now)
        sweeping.sweep_leftovers(place=place, drivers=driver_at, clock=timezone.now)


@shared_task(name=TaskName.SWEEP_LEDGER)
def sweep_ledger(**_: object) -> None:
    ledger_leaks.sweep(now=timezone.now())


@shared_task(name=TaskName.SWEEP_VOLUMES)
def sweep_volumes(**_: object) -> None:
    sweeping.sweep_volumes(drivers=driver_at, clock=timezone.now)
    forget_expired(now=timezone.now())


@shared_task(name=TaskName.SWEEP_INVENTORY)
def sweep_inventory(**_: object) -> None:
    sweeping.sweep_inventory(drivers=driver_at, clock=timezone.now)


@shared_task(name=TaskName.SWEEP_QUEUES)
def sweep_queues(**_: object) -> None:
    sweeping.sweep_queues(drivers=driver_at, clock=timezone.now)


@shared_task(name=TaskName.SWEEP_GROUNDS)
def sweep_grounds(**_: object) -> None:
    grounds.sweep_grounds(drivers=driver_at, clock=timezone.now)


@shared_task(name=TaskName.SWEEP_CLUSTERS)
def sweep_clusters(**_: object) -> None:
    """Work follows its cluster's standing; clusters that nobody has looked at for a while are looked at."""
    cluster_standing.follow(now=timezone.now())
    with scope.of_platform():
        for cluster_id in cluster_health.due_for_a_look(timezone.now()):
            enqueue_on_commit(TaskName.CHECK_CLUSTER, cluster_id=cluster_id)


@shared_task(name=TaskName.CHECK_CLUSTER)
def check_cluster(*, cluster_id: str, **_: object) -> None:
    """What answers is asked for its nodes too: a cluster that was just taken in offers them at once."""
    found = cluster_health.look_again(cluster_id=UUID(cluster_id), now=timezone.now())
    if found is not None and found.seen is not None:
        sweeping.list_nodes(cluster_id=UUID(cluster_id), drivers=driver_at, clock=timezone.now)


@shared_task(name=TaskName.LIST_NODES)
def list_nodes(*, cluster_id: str, **_: object) -> None:
    sweeping.list_nodes(cluster_id=UUID(cluster_id), drivers=driver_at, clock=timezone.now)


@shared_task(name=TaskName.SWEEP_QUOTAS)
def sweep_quotas(**_: object) -> None:
    """Raises whose time is over, and quotas that do not say what lives."""
    end_raises(now=timezone.now())
    quota_drift.sweep(now=timezone.now())
