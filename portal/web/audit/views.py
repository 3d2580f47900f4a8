"""Saved views: filters under a name."""

from __future__ import annotations

import json
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from core.errors import FieldError, Invalid
from core.routes import route
from core.types import Actor
from portal.audit_filters import chosen_of
from tenants.enums import Permission
from tenants.services import audit_log


@route(permission=Permission.VIEW_AUDIT, verb="audit_view.saved")
@require_POST
def view_save(request: HttpRequest) -> HttpResponse:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    query = _query(request.POST.get("query", ""))
    view = audit_log.save_view(
        actor=actor,
        name=request.POST.get("name", ""),
        query=query,
        shared=request.POST.get("shared") == "on",
        now=timezone.now(),
    )
    messages.success(request, f"{view.name} is kept.")
    return redirect(f"{reverse('audit')}?{urlencode(query)}")


@route(permission=Permission.VIEW_AUDIT, verb="audit_view.removed")
@require_POST
def view_remove(request: HttpRequest, view_id: UUID) -> HttpResponse:
    audit_log.remove_view(actor=request.actor, view_id=view_id, now=timezone.now())  # type: ignore[attr-defined]
    messages.success(request, "The view is removed.")
    return redirect("audit")


def _query(words: str) -> dict[str, str]:
    try:
        found = json.loads(words)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Invalid([FieldError("query", "malformed", "Choose filters first, then keep them.")])
    return chosen_of({str(name): str(value) for name, value in found.items()})
