"""Disks: those of living workloads, and those of deleted ones that can be brought back."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.routes import route
from provisioning.api import examples, outputs
from provisioning.api.describing import VolumeOutput
from provisioning.api.inputs import VolumeFilters
from provisioning.models import Volume as VolumeRow
from provisioning.selectors.listing import volume_for, volumes_matching
from tenants.enums import Permission
from tenants.selectors import people_by_id


class Volumes(Endpoint):
    @route(permission=Permission.VIEW_WORKLOAD, verb="volume.listed")
    @shape(
        summary="List volumes",
        output=VolumeOutput,
        filters=VolumeFilters,
        listed=True,
        versioned=True,
        example=examples.VOLUME,
    )
    def get(self, request: Request) -> HttpResponse:
        """A `kept` one comes back with its files when a workload is launched with it as `volume`."""
        return self.tagged(self.page(volumes_matching(self.actor, self.filters(VolumeFilters)), _present))


class Volume(Endpoint):
    @route(permission=Permission.VIEW_WORKLOAD, verb="volume.viewed")
    @shape(summary="Show a volume", output=VolumeOutput, versioned=True, example=examples.VOLUME)
    def get(self, request: Request, volume_id: UUID) -> HttpResponse:
        return self.tagged(self.answer(_present([volume_for(self.actor, volume_id)])[0]))


def _present(rows: Sequence[VolumeRow]) -> list[object]:
    people = people_by_id({row.owner_id for row in rows})
    return [outputs.volume(row, people) for row in rows]
