"""Acting for somebody: begun in the console, shown on every page, ended by hand or by the clock."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from core.errors import FieldError, Invalid
from core.routes import AUTHENTICATED, route
from core.types import Actor, ObjectRef
from portal.identity import ENDS_IMPERSONATION, SESSION_IMPERSONATION, SESSION_PROJECT
from portal.web.console import frame
from tenants.enums import PlatformPermission
from tenants.services import impersonations


@route(permission=PlatformPermission.IMPERSONATE, verb="impersonation.begun", scoped=False)
@require_POST
def impersonate(request: HttpRequest, slug: str, person_id: UUID) -> HttpResponse:
    """Act for one member, for a reason that the organisation reads in its audit log, for at most an hour."""
    may, asked = PlatformPermission.IMPERSONATE, ObjectRef("member", str(person_id))
    organization_id = frame.tenant_at(request, may, slug, asked).pk
    with frame.inside(request, may, organization_id) as actor:
        begun = impersonations.begin(
            actor=actor,
            person_id=person_id,
            reason=request.POST.get("reason", ""),
            lasts=timedelta(minutes=_minutes(request.POST.get("minutes", ""))),
            now=timezone.now(),
        )
    request.session[SESSION_IMPERSONATION] = [str(begun.pk), str(organization_id)]
    request.session.pop(SESSION_PROJECT, None)
    return redirect("home")


@route(permission=AUTHENTICATED, verb=ENDS_IMPERSONATION)
@require_POST
def end_impersonation(request: HttpRequest) -> HttpResponse:
    """Be oneself again."""
    begun = request.session.pop(SESSION_IMPERSONATION, None)
    request.session.pop(SESSION_PROJECT, None)
    if begun is not None:
        actor: Actor = request.actor  # type: ignore[attr-defined]
        impersonations.end(actor=actor, impersonation_id=UUID(begun[0]), now=timezone.now())
        messages.success(request, "You act for yourself again.")
    return redirect("console-tenants")


def _minutes(word: str) -> int:
    if not word.isascii() or not word.isdigit() or len(word) > 4:
        raise Invalid([FieldError("minutes", "not_a_number", "Choose from 1 to 60 minutes.")])
    return int(word)
