"""Disks that went with their cluster: billed until it was removed, then gone, and outside the quota."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from billing.enums import Component
from billing.services import usage
from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.types import system_actor
from provisioning.enums import State, VolumeState
from provisioning.lifecycle import HOLDS, Holding
from provisioning.models import Cluster, Volume, Workload
from provisioning.services import holdings
from provisioning.services.transitions import locked, note
from tenants.services import quotas

DISKS: Final = (VolumeState.PRESENT, VolumeState.KEPT)


def write_off(cluster: Cluster, *, now: datetime) -> int:
    """Make the books say of a removed cluster that its disks are gone since then. Idempotent; returns how many were."""
    with scope.of_platform():
        rows = Volume.objects.filter(cluster=cluster, state__in=DISKS).order_by("pk")
        found = list(rows.values_list("organization_id", "pk"))
    at = cluster.standing_since or now
    return sum(_write_off(organization_id, volume_id, cluster.slug, at) for organization_id, volume_id in found)


def _write_off(organization_id: UUID, volume_id: UUID, slug: str, at: datetime) -> bool:
    """Locks in the order of a transition: the workload, then its quotas and its billing period."""
    actor = system_actor("cluster sweep", organization_id)
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
        holder = Workload.objects.filter(volume=volume_id).exclude(state=State.DELETED).values_list("pk", flat=True)
        workload = locked(holder[0]) if holder else None
        volume = Volume.objects.select_for_update().filter(pk=volume_id, state__in=DISKS).first()
        if volume is None:
            return False
        before, volume.state = str(volume.state), VolumeState.PURGED
        volume.deleted_at, volume.purge_after = volume.deleted_at or at, None
        volume.save(update_fields=["state", "deleted_at", "purge_after"])
        if workload is not None:
            _let_go(workload, at)
            message = f"Its disk of {volume.size_gib} GiB went with the cluster {slug}."
            note(workload, actor, "volume.lost", message, at=at)
        after = {"state": str(volume.state), "cluster": slug}
        audit.record(actor, "volume.lost", volume.ref, now=at, before={"state": before}, after=after)
        return True


def _let_go(workload: Workload, at: datetime) -> None:
    """The disk's session ends; what rests holds no storage any more, what still ends gives it back with the rest."""
    usage.close_sessions(
        organization_id=workload.organization_id, workload_id=workload.pk, at=at, components=[Component.DISK]
    )
    if HOLDS[State(workload.state)] is Holding.STORAGE:
        quotas.give_back(project_id=workload.project_id, holder=holdings.holder_of(workload), keep=holdings.NOTHING)
