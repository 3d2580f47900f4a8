"""What a person does to a workload: each is a wish, answered by its page."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from core.routes import route
from core.types import Actor
from portal.web.workloads.job_page import log_asked, log_context
from portal.workspace_address import entry_url
from provisioning.services import wishes
from provisioning.services.entries import open_entry
from provisioning.services.manifests import manifest_file
from provisioning.services.reach import log_of
from provisioning.types import NEWEST
from tenants.enums import Permission

_LOG_LINES, _KEPT_LINES = 200, 1000


@route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.stop_requested")
@require_POST
def workload_stop(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    wishes.stop(actor=_actor(request), workload_id=workload_id, now=timezone.now())
    return redirect("workload", workload_id)


@route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.start_requested")
@require_POST
def workload_start(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    wishes.start(actor=_actor(request), workload_id=workload_id, now=timezone.now())
    return redirect("workload", workload_id)


@route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.extended")
@require_POST
def workload_keep(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    wishes.extend(actor=_actor(request), workload_id=workload_id, now=timezone.now())
    messages.success(request, "It is kept.")
    return redirect("workload", workload_id)


@route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.delete_requested")
@require_POST
def workload_delete(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    wishes.delete(actor=_actor(request), workload_id=workload_id, now=timezone.now())
    return redirect("workload", workload_id)


@route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.opened")
@require_POST
@never_cache
def workload_open(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Lead the owner into the workspace: a one-time code of seconds, spent by the redirect itself."""
    opened = open_entry(actor=_actor(request), workload_id=workload_id, now=timezone.now())
    response = HttpResponseRedirect(entry_url(opened.label, opened.code, opened.path))
    response["Referrer-Policy"] = "no-referrer"
    return response


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.viewed", scoped=False)
@require_GET
def workload_logs(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """The last lines of the log, asked of the driver outside any transaction."""
    asked = log_asked(request)
    tail = _LOG_LINES if asked == NEWEST else _KEPT_LINES
    lines = log_of(actor=_actor(request), workload_id=workload_id, tail=tail, of=asked)
    context = {"log": "\n".join(lines), "loaded": True, **log_context(workload_id, asked)}
    return render(request, "portal/workloads/_logs.html", context)


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.manifests_viewed")
@require_GET
def workload_manifests(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """A file that runs it on any cluster without the platform."""
    name, text = manifest_file(actor=_actor(request), workload_id=workload_id)
    response = HttpResponse(text, content_type="application/yaml; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    response["Cache-Control"] = "private, no-store"
    return response


@route(permission=Permission.OPERATE_WORKLOAD, verb="workload.force_deleted")
@require_POST
def workload_force_delete(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Give up on a cluster that does not answer; what may be left there is recorded."""
    wishes.force_delete(actor=_actor(request), workload_id=workload_id, now=timezone.now())
    return redirect("workload", workload_id)


def _actor(request: HttpRequest) -> Actor:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor
