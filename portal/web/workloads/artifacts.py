"""The part of a job's page that lists the files it left, and their download."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.views.decorators.http import require_GET

from core.downloads import saved_as
from core.errors import Conflict
from core.routes import route
from core.types import Actor
from provisioning.services.reach import artifact, artifacts_of
from tenants.enums import Permission

_SHOWN = 100


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.artifacts_listed", scoped=False)
@require_GET
def artifacts_part(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Asked of the driver, outside any transaction. What cannot be listed says why."""
    context: dict[str, object] = {"artifacts_url": reverse("workload-artifacts", args=[workload_id]), "loaded": True}
    try:
        found = artifacts_of(actor=_actor(request), workload_id=workload_id)
    except Conflict as error:
        return render(request, "portal/workloads/_artifacts.html", context | {"why_not": error.message})
    address = reverse("workload-artifact", args=[workload_id])
    context["artifacts"] = [
        {
            "path": file.path,
            "size": filesizeformat(file.size),
            "at": file.modified_at,
            "url": f"{address}?{urlencode({'path': file.path})}",
        }
        for file in found.files[:_SHOWN]
    ]
    context["artifacts_left_out"] = max(len(found.files) - _SHOWN, 0) or found.truncated
    return render(request, "portal/workloads/_artifacts.html", context)


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.artifact_read", scoped=False)
@require_GET
def artifact_file(request: HttpRequest, workload_id: UUID) -> StreamingHttpResponse:
    """To be saved, whatever it is: no browser shows it as a page of ours."""
    path = request.GET.get("path", "")
    found = artifact(actor=_actor(request), workload_id=workload_id, path=path)
    return saved_as(path.rpartition("/")[2], found.pieces, size=found.size)


def _actor(request: HttpRequest) -> Actor:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor
