"""What a transition takes and gives back: quota, usage sessions, the cluster's capacity, the volume.

Locks in one order everywhere: workload (the caller's), quotas, billing period, cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from billing.enums import Component
from billing.services import usage
from billing.types import MICRO
from provisioning.durations import duration
from provisioning.enums import DISK_SKU, MAY_RUN, Source, State, VolumeState
from provisioning.lifecycle import HOLDS, Holding
from provisioning.models import Allocation, Cluster, Volume, Workload
from provisioning.types import Run
from tenants.services import quotas
from tenants.types import Claim, Holder

NOTHING = Claim(())


@dataclass(frozen=True, slots=True)
class Change:
    """From which state to which, at which instant, and what the driver said of the run."""

    before: State
    after: State
    at: datetime
    run: Run | None


def follow(workload: Workload, change: Change) -> dict[str, object]:
    """Move everything that hangs on the state; returns the workload's fields that change with it."""
    _move_quota(workload, change)
    fields = _bind(workload, change)
    fields |= _unbind(workload, change, fields)
    if change.after is State.DELETED and change.before is not State.DELETED:
        _keep_volume(workload, change.at)
    if change.after is State.PROVISIONING and change.before is not State.PROVISIONING:
        _occupy(workload, change.at)
        fields["placed_at"] = change.at
    return fields


def holder_of(workload: Workload) -> Holder:
    return Holder(kind="workload", id=workload.pk, label=workload.name, owner_id=workload.owner_id)


def claim_of(workload: Workload) -> Claim:
    """What the workload holds of its project's quotas while it lives fully."""
    return workload.size.claim(workload.volume.size_gib)


def open_disk(workload: Workload, at: datetime) -> None:
    """The disk is billed for as long as it belongs to a living workload."""
    _open(workload, DISK_SKU, Component.DISK, workload.volume.size_gib, at)


def release(workload: Workload, at: datetime) -> dict[str, object]:
    """Free the cluster, usage and quota that a workload's state says it does not have; returns its fields to change."""
    fields: dict[str, object] = {"placed_at": None, "bound_at": None}
    if workload.bound_at is not None:
        fields["ended_at"] = max(workload.seen_at or at, workload.bound_at)
    usage.close_sessions(
        organization_id=workload.organization_id,
        workload_id=workload.pk,
        at=fields.get("ended_at", at),  # type: ignore[arg-type]
        components=[Component.ACCELERATOR, Component.COMPUTE],
    )
    if HOLDS[State(workload.state)] in (Holding.STORAGE, Holding.NOTHING):
        present = HOLDS[State(workload.state)] is Holding.STORAGE and workload.volume.state == VolumeState.PRESENT
        keep = Claim((("storage_gib", workload.volume.size_gib),)) if present else NOTHING
        quotas.give_back(project_id=workload.project_id, holder=holder_of(workload), keep=keep)
    _vacate(workload, at)
    return fields


def _move_quota(workload: Workload, change: Change) -> None:
    holding, before = HOLDS[change.after], HOLDS[change.before]
    if holding is Holding.ALL and before is not Holding.ALL:
        quotas.take(project=workload.project, claim=claim_of(workload), holder=holder_of(workload), now=change.at)
    elif holding in (Holding.STORAGE, Holding.NOTHING):
        keeps = holding is Holding.STORAGE and workload.volume.state == VolumeState.PRESENT
        keep = Claim((("storage_gib", workload.volume.size_gib),)) if keeps else NOTHING
        quotas.give_back(project_id=workload.project_id, holder=holder_of(workload), keep=keep)
    if change.after is State.RUNNING and change.before is not State.RUNNING:
        quotas.put_to_use(holder=holder_of(workload), now=change.at)


def _bind(workload: Workload, change: Change) -> dict[str, object]:
    """A run that has not been weighed yet has started: open its sessions at its real start."""
    run = change.run
    if run is None or run.started_at is None or run.incarnation == workload.incarnation or workload.placed_at is None:
        return {}
    start = min(max(run.started_at, workload.placed_at), change.at)
    shape = workload.shape
    component = Component.ACCELERATOR if shape.accelerator_id else Component.COMPUTE
    _open(workload, shape.sku_code, component, shape.sku_quantity * workload.replicas, start)
    if workload.volume.state == VolumeState.NEW:
        Volume.objects.filter(pk=workload.volume_id).update(state=VolumeState.PRESENT)
        workload.volume.state = VolumeState.PRESENT
        open_disk(workload, start)
    return {
        "incarnation": run.incarnation,
        "bound_at": start,
        "ended_at": None,
        "seen_at": change.at,
        "last_activity_at": start,
        "last_activity_source": Source.START,
        "stop_extended_until": None,
        "warned_at": None,
        "probe_at": None,
    }


def _unbind(workload: Workload, change: Change, bound: dict[str, object]) -> dict[str, object]:
    """Nothing runs any more: close at the real end, else at the last certain observation, and free the cluster."""
    if workload.placed_at is None or change.after in MAY_RUN:
        return {}
    fields: dict[str, object] = {"placed_at": None}
    start = bound.get("bound_at", workload.bound_at)
    if isinstance(start, datetime):
        end = max(_real_end(workload, change), start)
        components = [Component.ACCELERATOR, Component.COMPUTE]
        usage.close_sessions(
            organization_id=workload.organization_id, workload_id=workload.pk, at=end, components=components
        )
        fields |= {"bound_at": None, "ended_at": end}
    _vacate(workload, change.at)
    return fields


def _real_end(workload: Workload, change: Change) -> datetime:
    if change.run is not None and change.run.ended_at is not None:
        return min(change.run.ended_at, change.at)
    return workload.seen_at or change.at


def _open(workload: Workload, sku_code: str, component: Component, units: int, at: datetime) -> None:
    usage.open_session(
        organization_id=workload.organization_id,
        project=workload.project.ref,
        user_id=workload.owner_id,
        workload_ref=workload.ref,
        workload_kind=workload.kind,
        sku_code=sku_code,
        component=component,
        quantity_micro=units * MICRO,
        at=at,
    )


def _keep_volume(workload: Workload, at: datetime) -> None:
    """The disk stays for a while, unbilled and outside the quota. One that never held a file may go at once."""
    usage.close_sessions(
        organization_id=workload.organization_id, workload_id=workload.pk, at=at, components=[Component.DISK]
    )
    kept = duration("VOLUME_KEPT") if workload.volume.state == VolumeState.PRESENT else None
    Volume.objects.filter(pk=workload.volume_id).exclude(state=VolumeState.PURGED).update(
        state=VolumeState.KEPT, deleted_at=at, purge_after=at + kept if kept else at
    )


def _occupy(workload: Workload, at: datetime) -> None:
    resources = workload.size.resources()
    Allocation.objects.create(
        organization_id=workload.organization_id,
        workload=workload,
        cluster_id=workload.cluster_id,
        resources=resources,
        held_from=at,
    )
    _add(workload.cluster_id, resources, 1)


def _vacate(workload: Workload, at: datetime) -> None:
    for allocation in Allocation.objects.filter(workload=workload, held_to=None):
        Allocation.objects.filter(pk=allocation.pk).update(held_to=at)
        _add(allocation.cluster_id, allocation.resources, -1)


def _add(cluster_id: UUID, resources: dict[str, int], sign: int) -> None:
    """The cluster's own count, under its row's lock."""
    cluster = Cluster.objects.select_for_update(no_key=True).get(pk=cluster_id)
    used = dict(cluster.used)
    for name, amount in resources.items():
        used[name] = used.get(name, 0) + sign * amount
    Cluster.objects.filter(pk=cluster.pk).update(used=used)
