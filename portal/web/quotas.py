"""Quotas of a project: limit, used, left, and who holds what."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from core.errors import FieldError, Invalid
from core.routes import route
from core.types import Actor
from portal.web.here import project_here
from tenants.enums import Permission
from tenants.permissions import holds
from tenants.selectors import held_of, people_sharing, quotas_visible_to
from tenants.services import quotas

RESOURCE_WORDS = {
    "workloads": ("Workloads", ""),
    "accelerators": ("All accelerators", "devices"),
    "vcpus": ("vCPU", ""),
    "memory_gib": ("Memory", "GiB"),
    "storage_gib": ("Storage", "GiB"),
}


def resource_words(resource: str) -> tuple[str, str]:
    """Label and unit of a quota's resource as pages write it."""
    base, _, model = resource.partition("/")
    return (model, "devices") if model else RESOURCE_WORDS.get(base, (base, ""))


@route(permission=Permission.VIEW_QUOTA, verb="quota.viewed")
@require_GET
def quota_list(request: HttpRequest) -> HttpResponse:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    project = project_here(request)
    rows = list(quotas_visible_to(actor).filter(project_id=project.pk)) if project else []
    held = held_of(rows)
    may_edit = project is not None and holds(actor, Permission.MANAGE_QUOTA, project)
    context = {
        "project": project.name if project else "",
        "people": people_sharing(project.pk) if project else 0,
        "quotas": [
            {
                "id": row.pk,
                "label": resource_words(row.resource)[0],
                "unit": resource_words(row.resource)[1],
                "limit": row.limit,
                "used": row.used,
                "holders": [
                    {
                        "label": hold.label,
                        "amount": hold.amount,
                        "url": _holder_url(hold.kind, hold.id),
                    }
                    for hold in held[row.pk].holds
                ],
                "edit_url": reverse("quota-limit", args=[row.pk]) if may_edit else "",
            }
            for row in rows
        ],
    }
    return render(request, "portal/quotas/list.html", context)


@route(permission=Permission.MANAGE_QUOTA, verb="quota.limit_set")
@require_POST
def quota_limit(request: HttpRequest, quota_id: UUID) -> HttpResponse:
    word = request.POST.get("limit", "").strip()
    if not word.isascii() or not word.isdigit():
        raise Invalid([FieldError("limit", "not_a_number", "A limit is a whole number, such as 8.")])
    changed = quotas.set_limit(
        actor=request.actor,  # type: ignore[attr-defined]
        quota_id=quota_id,
        limit=int(word),
        now=timezone.now(),
    )
    messages.success(request, f"{resource_words(changed.resource)[0]}: the limit is {changed.limit} now.")
    return redirect("quotas")


def _holder_url(kind: str, holder_id: UUID) -> str:
    return reverse("workload", args=[holder_id]) if kind == "workload" else reverse("volumes")
