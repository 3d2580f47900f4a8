"""Files that a job leaves: listed, and downloaded one by one."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.inputs import Filters
from core.api.shapes import shape
from core.downloads import BYTES, saved_as
from core.routes import route
from provisioning.services import reach
from tenants.enums import Permission

_LONGEST_PATH = 2_000


class FileOutput(serializers.Serializer[object]):
    path = serializers.CharField()
    size = serializers.IntegerField(help_text="In bytes.")
    modified_at = serializers.DateTimeField()


class ArtifactsOutput(serializers.Serializer[object]):
    files = FileOutput(many=True)
    truncated = serializers.BooleanField(help_text="There are more than these.")
    as_of = serializers.DateTimeField()


@dataclass(frozen=True, slots=True)
class FileAsked:
    path: str = ""


class FileFilters(Filters[FileAsked]):
    into = FileAsked

    path = serializers.CharField(
        required=False, max_length=_LONGEST_PATH, trim_whitespace=False, help_text="As the list says it."
    )


class Artifacts(Endpoint):
    @route(permission=Permission.VIEW_WORKLOAD, verb="workload.artifacts_listed", scoped=False)
    @shape(
        summary="List a job's artefacts",
        output=ArtifactsOutput,
        refuses=True,
        example={
            "files": [{"path": "model/weights.pt", "size": 104857600, "modified_at": "2026-11-30T18:30:00Z"}],
            "truncated": False,
            "as_of": "2026-11-30T18:40:00Z",
        },
    )
    def get(self, request: Request, workload_id: UUID) -> HttpResponse:
        """The files below `$STEELYARD_ARTIFACTS`, while it runs and for as long as its disk is there: 1,000 at most.

        409 `artifacts_unavailable` where its cluster does not show them.
        """
        found = reach.artifacts_of(actor=self.actor, workload_id=workload_id)
        files = [{"path": each.path, "size": each.size, "modified_at": each.modified_at} for each in found.files]
        return self.answer({"files": files, "truncated": found.truncated, "as_of": self.moment})


class ArtifactContent(Endpoint):
    produces = (BYTES,)

    @route(permission=Permission.VIEW_WORKLOAD, verb="workload.artifact_read", scoped=False)
    @shape(
        summary="Download an artefact",
        output=OpenApiTypes.BINARY,  # type: ignore[arg-type]  # bytes have no serializer
        filters=FileFilters,
        refuses=True,
        media_type=BYTES,
    )
    def get(self, request: Request, workload_id: UUID) -> HttpResponseBase:
        """The file as it is now, of at most 4 GiB."""
        asked = self.filters(FileFilters)
        found = reach.artifact(actor=self.actor, workload_id=workload_id, path=asked.path)
        return saved_as(asked.path.rpartition("/")[2], found.pieces, size=found.size)
