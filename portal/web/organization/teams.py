"""Teams: the list, and one team with its projects and members."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from core.errors import Refused, SteelyardError
from core.routes import route
from portal.web.organization.asking import asked, refused, show
from portal.web.organization.forms import TeamForm, TeamNameForm
from tenants.enums import Permission
from tenants.permissions import authorize, holds, permissions_on
from tenants.selectors import projects_with
from tenants.selectors.places import members_here, teams_counted
from tenants.services import teams

if TYPE_CHECKING:
    from tenants.models import Membership


@route(permission=Permission.VIEW_TEAM, verb="team.listed")
@require_GET
def team_list(request: HttpRequest) -> HttpResponse:
    return _list(request)


@route(permission=Permission.MANAGE_TEAM, verb="team.created")
@require_POST
def team_new(request: HttpRequest) -> HttpResponse:
    actor, organization = asked(request)
    authorize(actor, Permission.MANAGE_TEAM, organization)
    form = TeamForm(request.POST)
    if not form.is_valid():
        return _list(request, form=form, status=400)
    words = form.cleaned_data
    try:
        team = teams.create(
            actor=actor, organization=organization, slug=words["slug"], name=words["name"], now=timezone.now()
        )
    except SteelyardError as error:
        return _list(request, form=form, status=show(form, error, request))
    messages.success(request, f"{team.name} is there. Give people roles on it, and projects to it.")
    return redirect("team", team_id=team.pk)


@route(permission=Permission.VIEW_TEAM, verb="team.viewed")
@require_GET
def team_detail(request: HttpRequest, team_id: UUID) -> HttpResponse:
    return _detail(request, team_id)


@route(permission=Permission.MANAGE_TEAM, verb="team.renamed")
@require_POST
def team_rename(request: HttpRequest, team_id: UUID) -> HttpResponse:
    actor, _ = asked(request)
    authorize(actor, Permission.MANAGE_TEAM, teams.team_by_id(actor, team_id))
    form = TeamNameForm(request.POST)
    if not form.is_valid():
        return _detail(request, team_id, form=form, status=400)
    try:
        teams.rename(actor=actor, team_id=team_id, name=form.cleaned_data["name"], now=timezone.now())
    except SteelyardError as error:
        return _detail(request, team_id, form=form, status=show(form, error, request))
    messages.success(request, "Saved.")
    return redirect("team", team_id=team_id)


@route(permission=Permission.MANAGE_TEAM, verb="team.deleted")
@require_POST
def team_delete(request: HttpRequest, team_id: UUID) -> HttpResponse:
    actor, _ = asked(request)
    try:
        teams.delete(actor=actor, team_id=team_id, now=timezone.now())
    except Refused as error:
        reasons = [each.message for each in error.reasons]
        return _detail(request, team_id, reasons=reasons, status=refused(request, error))
    messages.success(request, "The team is gone, and the roles on it.")
    return redirect("teams")


def _list(request: HttpRequest, *, form: TeamForm | None = None, status: int = 200) -> HttpResponse:
    actor, organization = asked(request)
    rows = list(teams_counted(actor))
    may = holds(actor, Permission.MANAGE_TEAM, organization)
    if not rows and not may:
        authorize(actor, Permission.VIEW_TEAM, organization)
    context = {
        "teams": [
            {
                "name": row.name,
                "slug": row.slug,
                "url": reverse("team", args=[row.pk]),
                "projects": row.project_count,  # type: ignore[attr-defined]
                "members": row.member_count,  # type: ignore[attr-defined]
                "since": row.created_at,
            }
            for row in rows
        ],
        "form": (form or TeamForm()) if may else None,
        "new_url": reverse("team-new"),
    }
    return render(request, "portal/organization/teams.html", context, status=status)


def _detail(
    request: HttpRequest,
    team_id: UUID,
    *,
    form: TeamNameForm | None = None,
    reasons: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    actor, _ = asked(request)
    team = teams.team_by_id(actor, team_id)
    held = permissions_on(actor, team)
    may = Permission.MANAGE_TEAM in held
    sees = Permission.VIEW_MEMBERS in held
    context = {
        "team": {"name": team.name, "slug": team.slug, "since": team.created_at},
        "projects": [
            {"name": row.name, "slug": row.slug, "url": reverse("project", args=[row.pk]), "closed": row.closed_at}
            for row in projects_with(actor, Permission.VIEW_PROJECT).filter(team=team)
        ],
        "members": [_member(row) for row in members_here(team)] if sees else None,
        "members_url": reverse("members"),
        "form": (form or TeamNameForm(initial={"name": team.name})) if may else None,
        "reasons": reasons or [],
        "rename_url": reverse("team-rename", args=[team.pk]),
        "delete_url": reverse("team-delete", args=[team.pk]) if may else "",
    }
    return render(request, "portal/organization/team.html", context, status=status)


def _member(row: Membership) -> dict[str, object]:
    return {
        "name": row.user.full_name or row.user.email,
        "url": reverse("member", args=[row.user_id]),
        "role": row.get_role_display(),
    }
