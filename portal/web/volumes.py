"""Disks: those in use, and those of deleted workloads that can still be brought back."""

from __future__ import annotations

from fractions import Fraction
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from core.routes import route
from core.types import Actor
from portal.web.numbers import rate
from portal.web.workloads.rows import launch_url_for
from portal.web.workloads.words import standing_words
from provisioning.selectors.catalogue import prices_for
from provisioning.selectors.spans import volume_kept
from provisioning.selectors.workloads import kept_volumes, living_workloads_visible_to
from tenants.enums import Permission
from tenants.selectors import organization_of, projects_with


@route(permission=Permission.VIEW_WORKLOAD, verb="volume.listed")
@require_GET
def volume_list(request: HttpRequest) -> HttpResponse:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    now, currency = timezone.now(), organization_of(actor).currency
    gib_hour = prices_for([], currency, now).disk_gib_hour or Fraction(0)
    launchable = {project.pk for project in projects_with(actor, Permission.LAUNCH_WORKLOAD)}
    living = living_workloads_visible_to(actor).select_related("volume", "project")
    context = {
        "volumes": [
            {
                "id": workload.volume_id,
                "name": workload.name,
                "size": f"{workload.volume.size_gib} GiB",
                "project": workload.project.name,
                "workload": workload.name,
                "workload_url": reverse("workload", args=[workload.pk]),
                "tone": standing_words(workload)[0],
                "word": standing_words(workload)[1],
                "rate": rate(gib_hour * workload.volume.size_gib, currency),
            }
            for workload in living
        ],
        "deleted": [
            {
                "id": volume.pk,
                "name": volume.name,
                "size": f"{volume.size_gib} GiB",
                "project": volume.project.name,
                "deleted_at": volume.deleted_at,
                "gone_at": volume.purge_after,
                "restore_url": f"{reverse('launch')}?{urlencode({'volume': volume.pk, 'name': volume.name})}"
                if volume.project_id in launchable
                else "",
            }
            for volume in kept_volumes(actor, now)
        ],
        "kept_days": volume_kept().days,
        "launch_url": launch_url_for(actor),
    }
    return render(request, "portal/volumes/list.html", context)
