"""Projects: the list, and one project with what governs it and who works in it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from core.errors import NotFound, Refused, SteelyardError
from core.routes import route
from core.types import Actor
from portal.web.organization.asking import asked, refused, show, uuid_of
from portal.web.organization.forms import ProjectFactsForm, ProjectForm
from tenants.enums import ApprovalKind, Environment, Permission
from tenants.permissions import authorize, holds, permissions_on
from tenants.selectors.approvals import open_about
from tenants.selectors.places import members_here, projects_counted, teams_visible_to
from tenants.services import projects
from tenants.services.projects import ProjectFacts

if TYPE_CHECKING:
    from tenants.models import Membership, Project

_TONES = {Environment.PRODUCTION: "brass", Environment.STAGING: "cool"}


@route(permission=Permission.VIEW_PROJECT, verb="project.listed")
@require_GET
def project_list(request: HttpRequest) -> HttpResponse:
    return _list(request)


@route(permission=Permission.CREATE_PROJECT, verb="project.created")
@require_POST
def project_new(request: HttpRequest) -> HttpResponse:
    actor, organization = asked(request)
    authorize(actor, Permission.CREATE_PROJECT, organization)
    form = ProjectForm(request.POST, choices={"team": _teams(actor)})
    if not form.is_valid():
        return _list(request, form=form, status=400)
    words = form.cleaned_data
    facts = ProjectFacts(
        name=words["name"],
        environment=words["environment"],
        data_class=words["data_class"],
        cost_centre=words["cost_centre"],
        team_id=uuid_of(words["team"]),
    )
    try:
        project = projects.create(
            actor=actor, organization=organization, slug=words["slug"], facts=facts, now=timezone.now()
        )
    except SteelyardError as error:
        return _list(request, form=form, status=show(form, error, request))
    messages.success(request, f"{project.name} is there. Set its quotas, so that something can be launched in it.")
    return redirect("project", project_id=project.pk)


@route(permission=Permission.VIEW_PROJECT, verb="project.viewed")
@require_GET
def project_detail(request: HttpRequest, project_id: UUID) -> HttpResponse:
    return _detail(request, project_id)


@route(permission=Permission.MANAGE_PROJECT, verb="project.changed")
@require_POST
def project_change(request: HttpRequest, project_id: UUID) -> HttpResponse:
    actor, _ = asked(request)
    project = _project(actor, project_id)
    authorize(actor, Permission.MANAGE_PROJECT, project)
    form = ProjectFactsForm(request.POST, choices={"team": _teams(actor)})
    if not form.is_valid():
        return _detail(request, project_id, form=form, status=400)
    words = form.cleaned_data
    changes = {name: words[name] for name in ("name", "environment", "data_class", "cost_centre")}
    version = request.POST.get("version", "")
    wanted = uuid_of(words["team"])
    try:
        changed = projects.change(
            actor=actor,
            project_id=project_id,
            changes=changes | {"team_id": wanted},
            expected_version=int(version) if version.isdigit() else None,
            now=timezone.now(),
        )
    except SteelyardError as error:
        return _detail(request, project_id, form=form, status=show(form, error, request))
    waits = changed.team_id != wanted
    messages.success(request, "Saved. The move waits for somebody else's approval." if waits else "Saved.")
    return redirect("project", project_id=project_id)


@route(permission=Permission.MANAGE_PROJECT, verb="project.closed")
@require_POST
def project_close(request: HttpRequest, project_id: UUID) -> HttpResponse:
    actor, _ = asked(request)
    try:
        project = projects.close(actor=actor, project_id=project_id, now=timezone.now())
    except Refused as error:
        reasons = [each.message for each in error.reasons]
        return _detail(request, project_id, reasons=reasons, status=refused(request, error))
    messages.success(request, f"{project.name} is closed. Its usage stays readable.")
    return redirect("projects")


def _list(request: HttpRequest, *, form: ProjectForm | None = None, status: int = 200) -> HttpResponse:
    actor, organization = asked(request)
    rows = list(projects_counted(actor))
    may = holds(actor, Permission.CREATE_PROJECT, organization)
    if not rows and not may:
        authorize(actor, Permission.VIEW_PROJECT, organization)
    context = {
        "projects": [_row(row) | {"members": row.member_count} for row in rows],  # type: ignore[attr-defined]
        "form": (form or ProjectForm(choices={"team": _teams(actor)})) if may else None,
        "new_url": reverse("project-new"),
        "organization": organization.name,
    }
    return render(request, "portal/organization/projects.html", context, status=status)


def _detail(
    request: HttpRequest,
    project_id: UUID,
    *,
    form: ProjectFactsForm | None = None,
    reasons: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    actor, _ = asked(request)
    project = _project(actor, project_id)
    held = permissions_on(actor, project)
    may = Permission.MANAGE_PROJECT in held and project.closed_at is None
    context = {
        "project": _row(project) | {"version": project.version},
        "members": [_member(row) for row in members_here(project)] if Permission.VIEW_MEMBERS in held else None,
        "members_url": reverse("members"),
        "form": (form or _facts_form(actor, project)) if may else None,
        "reasons": reasons or [],
        "move": _move_waiting(project),
        "change_url": reverse("project-change", args=[project.pk]),
        "close_url": reverse("project-close", args=[project.pk]) if may else "",
    }
    return render(request, "portal/organization/project.html", context, status=status)


def _move_waiting(project: Project) -> dict[str, object] | None:
    asked = open_about(ApprovalKind.MOVE, project.pk, now=timezone.now())
    if asked is None:
        return None
    reasons = [reason["message"] for reason in asked.payload["reasons"]]
    return {"to": asked.payload["to"], "reasons": reasons, "expires_at": asked.expires_at}


def _project(actor: Actor, project_id: UUID) -> Project:
    found = projects_counted(actor).filter(pk=project_id).first()
    if found is None:
        raise NotFound("project", project_id)
    return found


def _facts_form(actor: Actor, project: Project) -> ProjectFactsForm:
    initial = {
        "name": project.name,
        "environment": project.environment,
        "data_class": project.data_class,
        "cost_centre": project.cost_centre,
        "team": str(project.team_id or ""),
    }
    return ProjectFactsForm(initial=initial, choices={"team": _teams(actor, project)})


def _teams(actor: Actor, project: Project | None = None) -> list[tuple[str, str]]:
    """No team, each that the actor sees, and the one that the project is in."""
    found = {str(team.pk): team.name for team in teams_visible_to(actor)}
    if project is not None and project.team is not None:
        found.setdefault(str(project.team_id), project.team.name)
    return [("", "None"), *found.items()]


def _row(row: Project) -> dict[str, object]:
    environment = Environment(row.environment)
    return {
        "name": row.name,
        "slug": row.slug,
        "url": reverse("project", args=[row.pk]),
        "environment": environment.label.lower(),
        "tone": _TONES.get(environment, ""),
        "data_class": row.data_class,
        "cost_centre": row.cost_centre,
        "team": row.team.name if row.team else "",
        "team_url": reverse("team", args=[row.team_id]) if row.team_id else "",
        "since": row.created_at,
        "closed_at": row.closed_at,
    }


def _member(row: Membership) -> dict[str, object]:
    return {
        "name": row.user.full_name or row.user.email,
        "url": reverse("member", args=[row.user_id]),
        "role": row.get_role_display(),
    }
