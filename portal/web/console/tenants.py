"""Organisations as the platform team sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from core import scope
from core.routes import route
from core.types import Actor
from portal.web.console import frame
from provisioning.selectors.fleet import Running, running_by_organization, running_by_project
from tenants.enums import PlatformPermission, PrincipalKind, Standing
from tenants.permissions import platform_permissions_on
from tenants.selectors import projects_by_slug
from tenants.selectors.platform import headcounts, principals_here, tenant_by_slug, tenants_matching

if TYPE_CHECKING:
    from tenants.models import Membership, Organization, Project

PAGE = 50
_TONES = {Standing.GOOD: "good", Standing.SUSPENDED: "bad", Standing.CLOSED: "wait"}


@route(permission=PlatformPermission.VIEW_TENANTS, verb="tenant.listed", scoped=False)
@require_GET
def tenant_list(request: HttpRequest) -> HttpResponse:
    """By slug, fifty a page, with what runs in each; a constant number of queries."""
    words, after = request.GET.get("q", "").strip()[:120], request.GET.get("after", "")[:40]
    with frame.across(request, PlatformPermission.VIEW_TENANTS, "tenant.listed"):
        found = tenants_matching(words)
        rows = list((found.filter(slug__gt=after) if after else found)[: PAGE + 1])
        shown = rows[:PAGE]
        ids = [row.pk for row in shown]
        running, heads = running_by_organization(ids), headcounts(ids)
    context: dict[str, object] = {
        "tenants": [_row(row, running[row.pk], heads[row.pk]) for row in shown],
        "chosen": {"q": words},
        "next": f"?q={words}&after={shown[-1].slug}" if len(rows) > PAGE else "",
    }
    return frame.page(request, "portal/console/tenants.html", context)


@route(permission=PlatformPermission.VIEW_TENANTS, verb="tenant.viewed", scoped=False)
@require_GET
def tenant_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """One organisation: its projects, what runs there, who belongs to it. Never what is inside a workspace."""
    with frame.across(request, PlatformPermission.VIEW_TENANTS, "tenant.viewed") as actor:
        organization = tenant_by_slug(slug)
        running = running_by_organization([organization.pk])[organization.pk]
        heads = headcounts([organization.pk])[organization.pk]
    with scope.of_organization(organization.pk):
        projects = list(projects_by_slug().values())
        by_project = running_by_project([project.pk for project in projects])
        principals = principals_here()
    context: dict[str, object] = {
        "tenant": _row(organization, running, heads),
        "organization": organization,
        "projects": [_project(project, by_project[project.pk]) for project in projects],
        "principals": _principals(principals),
        "may": _acts(actor, organization),
    }
    return frame.page(request, "portal/console/tenant.html", context)


def _row(organization: Organization, running: Running, heads: tuple[int, int]) -> dict[str, object]:
    standing = Standing(organization.standing)
    return {
        "slug": organization.slug,
        "name": organization.name,
        "url": reverse("console-tenant", args=[organization.slug]),
        "standing": standing.label.lower(),
        "tone": _TONES[standing],
        "reason": organization.standing_reason,
        "people": heads[0],
        "projects": heads[1],
        "running": running.workloads,
        "waiting": running.waiting,
        "accelerators": running.accelerators,
        "since": organization.created_at,
    }


def _project(project: Project, running: Running) -> dict[str, object]:
    return {
        "name": project.name,
        "slug": project.slug,
        "environment": project.environment,
        "data_class": project.data_class,
        "cost_centre": project.cost_centre,
        "closed": project.closed_at is not None,
        "running": running.workloads,
        "waiting": running.waiting,
        "accelerators": running.accelerators,
    }


def _principals(rows: list[Membership]) -> list[dict[str, object]]:
    """One line a principal, with all its roles."""
    found: dict[UUID, dict[str, object]] = {}
    roles: dict[UUID, list[str]] = {}
    for row in rows:
        place = row.project or row.team
        roles.setdefault(row.user_id, []).append(f"{row.get_role_display()} of {place.slug if place else 'all'}")
        found[row.user_id] = {
            "id": row.user_id,
            "name": row.user.full_name or row.user.email,
            "email": row.user.email if row.user.kind == PrincipalKind.PERSON else "",
            "person": row.user.kind == PrincipalKind.PERSON,
            "active": row.user.is_active,
        }
    return [{**one, "roles": ", ".join(roles[key])} for key, one in found.items()]


def _acts(actor: Actor, organization: Organization) -> dict[str, bool]:
    held = platform_permissions_on(actor)
    open_ = organization.standing != Standing.CLOSED
    return {
        "impersonate": open_ and PlatformPermission.IMPERSONATE in held,
        "govern": open_ and PlatformPermission.MANAGE_TENANTS in held,
    }
