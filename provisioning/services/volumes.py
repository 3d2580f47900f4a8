"""Volumes that nobody brought back."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.types import system_actor
from provisioning.drivers.places import Place
from provisioning.enums import VolumeState
from provisioning.models import Volume
from provisioning.selectors.specs import place_of


def to_remove(*, organization_id: UUID, volume_id: UUID, now: datetime) -> tuple[UUID, Place] | None:
    """(project id, where its driver works) of a kept volume whose time is over; None where it was brought back."""
    with scope.of_organization(organization_id):
        row = (
            Volume.objects.filter(pk=volume_id, state=VolumeState.KEPT, purge_after__lte=now)
            .select_related("cluster")
            .first()
        )
        return (row.project_id, place_of(row.cluster)) if row is not None else None


def mark_purged(*, organization_id: UUID, volume_id: UUID, now: datetime) -> bool:
    """Its files are gone. A volume past its time cannot be brought back, so nothing was lost in between."""
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
        row = Volume.objects.select_for_update().filter(pk=volume_id, state=VolumeState.KEPT).first()
        if row is None:
            return False
        Volume.objects.filter(pk=row.pk).update(state=VolumeState.PURGED)
        actor = system_actor("volume sweep", organization_id)
        audit.record(
            actor, "volume.purged", row.ref, now=now, before={"state": row.state}, after={"state": VolumeState.PURGED}
        )
        return True
