"""How the log is proven, and how long it is kept."""

from __future__ import annotations

import inspect
from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from core import audit_verifier
from core.anchors import last_anchor, public_keys
from core.errors import FieldError, Invalid
from core.models import AuditCut
from core.routes import AUTHENTICATED, route
from core.sealing import head_of
from core.types import Actor
from tenants.enums import Permission
from tenants.permissions import authorize, holds
from tenants.selectors import organization_of
from tenants.services import audit_log


@route(permission=Permission.VIEW_AUDIT, verb="audit.viewed")
@require_GET
def keeping(request: HttpRequest) -> HttpResponse:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    organization = organization_of(actor)
    authorize(actor, Permission.VIEW_AUDIT, organization)
    anchor = last_anchor(organization.pk)
    cut = AuditCut.objects.filter(organization_id=organization.pk, removed__gt=0).order_by("-seq").first()
    context = {
        "head": head_of(organization.pk),
        "anchor": {"seq": anchor["seq"], "at": datetime.fromisoformat(str(anchor["at"]))} if anchor else None,
        "cut": cut,
        "keys": public_keys(),
        "keep_days": audit_log.kept_days(organization.pk),
        "manages": holds(actor, Permission.MANAGE_AUDIT, organization),
        "list_url": reverse("audit"),
        "export_url": f"{reverse('audit-export')}?format=jsonl",
        "verifier_url": reverse("audit-verifier"),
        "set_url": reverse("audit-keeping-set"),
        "shortest": audit_log.SHORTEST_DAYS,
    }
    return render(request, "portal/audit/keeping.html", context)


@route(permission=Permission.MANAGE_AUDIT, verb="audit.retention_set")
@require_POST
def keeping_set(request: HttpRequest) -> HttpResponse:
    days = _days(request.POST.get("keep_days", "").strip())
    audit_log.keep_for(actor=request.actor, days=days, now=timezone.now())  # type: ignore[attr-defined]
    messages.success(request, f"Entries are kept for {days:,} days." if days else "Entries are kept for ever.")
    return redirect("audit-keeping")


@route(permission=AUTHENTICATED, verb="audit.viewed")
@require_GET
def verifier(_request: HttpRequest) -> HttpResponse:
    """The verifier as one file that runs anywhere."""
    response = HttpResponse(inspect.getsource(audit_verifier), content_type="text/x-python; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="audit_verifier.py"'
    return response


def _days(word: str) -> int | None:
    if not word:
        return None
    if not word.isascii() or not word.isdigit() or len(word) > 6:
        raise Invalid([FieldError("keep_days", "not_a_number", "Give a number of days, or nothing for ever.")])
    return int(word)
