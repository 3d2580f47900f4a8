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
from portal.mail import goes_to_files
from portal.web.console import frame
from portal.web.quotas_shown import resource_words
from provisioning.selectors.fleet import Running, running_by_organization, running_by_project
from tenants.enums import PlatformPermission, PrincipalKind, Resource, Role, Standing
from tenants.permissions import platform_permissions_on
from tenants.selectors import projects_by_slug
from tenants.selectors.platform import headcounts, principals_here, tenant_by_slug, tenants_matching
from tenants.selectors.quotas import organization_quotas

if TYPE_CHECKING:
    from tenants.models import Membership, Organization, Project, Quota

PAGE = 50
_TONES = {Standing.GOOD: "good", Standing.SUSPENDED: "bad", Standing.CLOSED: "wait"}


@route(permission=PlatformPermission.VIEW_TENANTS, verb="tenant.listed", scoped=False)
@require_GET
def tenant_list(request: HttpRequest) -> HttpResponse:
    """By slug, fifty a page, with what runs in each; a constant number of queries."""
    words, after = request.GET.get("q", "").strip()[:120], request.GET.get("after", "")[:40]
    with frame.across(request, PlatformPermission.VIEW_TENANTS, "tenant.listed") as actor:
        found = tenants_matching(words)
        rows = list((found.filter(slug__gt=after) if after else found)[: PAGE + 1])
        shown = rows[:PAGE]
        ids = [row.pk for row in shown]
        running, heads = running_by_organization(ids), headcounts(ids)
    context: dict[str, object] = {
        "may_found": PlatformPermission.MANAGE_TENANTS in platform_permissions_on(actor),
        "tenants": [_row(row, running[row.pk], heads[row.pk]) for row in shown],
        "chosen": {"q": words},
        "next": f"?q={words}&after={shown[-1].slug}" if len(rows) > PAGE else "",
    }
    return frame.page(request, "portal/console/tenants.html", context)


@route(permission=PlatformPermission.VIEW_TENANTS, verb="tenant.viewed", scoped=False)
@require_GET
def tenant_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """One organisation: its projects, what runs there, who belongs to it. Never what is inside a workspace."""
    return tenant_page(request, slug)


def tenant_page(request: HttpRequest, slug: str, *, invited: str = "", link: str = "") -> HttpResponse:
    """The page, and after an invitation its link, this once."""
    with frame.across(request, PlatformPermission.VIEW_TENANTS, "tenant.viewed") as actor:
        organization = tenant_by_slug(slug)
        running = running_by_organization([organization.pk])[organization.pk]
        heads = headcounts([organization.pk])[organization.pk]
    with scope.of_organization(organization.pk):
        projects = list(projects_by_slug().values())
        by_project = running_by_project([project.pk for project in projects])
        principals = principals_here()
        limits = organization_quotas()
    context: dict[str, object] = {
        "tenant": _row(organization, running, heads),
        "organization": organization,
        "projects": [_project(project, by_project[project.pk]) for project in projects],
        "principals": _principals(principals),
        "quotas": [_limit(row) for row in limits],
        "resources": Resource.values,
        "invited": invited,
        "link": link,
        "files": goes_to_files(),
        "ownerless": not any(row.role == Role.OWNER for row in principals),
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


def _limit(row: Quota) -> dict[str, object]:
    label, unit = resource_words(row.resource)
    return {"resource": row.resource, "label": label, "unit": unit, "limit": row.limit, "used": row.used}


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
        role = row.get_role_display()
        roles.setdefault(row.user_id, []).append(f"{role} of {place.slug}" if place else role)
        found[row.user_id] = {
            "id": row.user_id,
            "name": row.user.full_name or row.user.email,
            "email": row.user.email if row.user.kind == PrincipalKind.PERSON else "",
            "person": row.user.kind == PrincipalKind.PERSON,
            "customer": row.user.is_active and row.user.kind == PrincipalKind.PERSON and not row.user.platform_role,
            "active": row.user.is_active,
        }
    return [{**one, "roles": ", ".join(roles[key])} for key, one in found.items()]


def _acts(actor: Actor, organization: Organization) -> dict[str, bool]:
    held = platform_permissions_on(actor)
    open_ = organization.standing != Standing.CLOSED
    return {
        "impersonate": open_ and PlatformPermission.IMPERSONATE in held,
        "invite_owner": open_ and PlatformPermission.MANAGE_TENANTS in held,
        "suspend": organization.standing == Standing.GOOD and PlatformPermission.MANAGE_TENANTS in held,
        "restore": organization.standing == Standing.SUSPENDED and PlatformPermission.MANAGE_TENANTS in held,
        "set_quota": open_ and PlatformPermission.MANAGE_TENANT_QUOTA in held,
    }
