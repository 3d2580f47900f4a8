"""Changing where one is: organisation and project of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from core import audit
from core.errors import NotFound
from core.routes import AUTHENTICATED, route
from core.types import Actor
from portal.identity import SESSION_ORGANIZATION, SESSION_PROJECT
from tenants.enums import Permission
from tenants.selectors import organization_of, organizations_of_user, projects_with

if TYPE_CHECKING:
    from tenants.models import Organization


@route(permission=AUTHENTICATED, verb="organization.switched")
@require_POST
def switch_organization(request: HttpRequest, slug: str) -> HttpResponse:
    """Make another of one's organisations the active one of this session."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    found = next((place for place in _homes(actor) if place.slug == slug), None)
    if found is None:
        raise NotFound("organization", slug)
    request.session[SESSION_ORGANIZATION] = str(found.pk)
    request.session.pop(SESSION_PROJECT, None)
    audit.record(actor, "organization.switched", found.ref, now=timezone.now())
    return redirect("home")


def _homes(actor: Actor) -> list[Organization]:
    """Where the actor may go: a session that an organisation's provider opened leads nowhere else."""
    return [organization_of(actor)] if actor.bound else organizations_of_user(actor.person_id)


@route(permission=Permission.VIEW_PROJECT, verb="project.switched")
@require_POST
def switch_project(request: HttpRequest, slug: str) -> HttpResponse:
    """Make another project the one that pages and forms propose."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    found = projects_with(actor, Permission.VIEW_PROJECT).filter(slug=slug).first()
    if found is None:
        raise NotFound("project", slug)
    request.session[SESSION_PROJECT] = found.slug
    audit.record(actor, "project.switched", found.ref, now=timezone.now())
    target = request.POST.get("next", "/")
    safe = url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    return redirect(target if safe else "home")
