"""Organisations, projects, memberships and roles."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import NotFound
from core.routes import AUTHENTICATED, route
from tenants.api import outputs
from tenants.api.inputs import MembershipFilters
from tenants.api.outputs import (
    ORGANIZATION_COLUMNS,
    MembershipOutput,
    OrganizationOutput,
    ProjectOutput,
    RoleOutput,
)
from tenants.enums import Permission, Role
from tenants.roles import ORGANIZATION_ROLES, permissions_of
from tenants.selectors import memberships_visible_to, organizations_visible_to, project_for, projects_with


class Organizations(Endpoint):
    @route(permission=AUTHENTICATED, verb="organization.listed")
    @shape(summary="List your organisations", output=OrganizationOutput, listed=True)
    def get(self, request: Request) -> HttpResponse:
        """A token acts in one organisation and sees that one."""
        return self.page(organizations_visible_to(self.actor).values(*ORGANIZATION_COLUMNS), _without_versions)


class Organization(Endpoint):
    @route(permission=AUTHENTICATED, verb="organization.viewed")
    @shape(summary="Show an organisation", output=OrganizationOutput, versioned=True)
    def get(self, request: Request, organization_id: UUID) -> HttpResponse:
        rows = organizations_visible_to(self.actor).filter(pk=organization_id)
        found = rows.values(*ORGANIZATION_COLUMNS).first()
        if found is None:
            raise NotFound("organization", organization_id)
        return self.one(found["version"], lambda: _without_versions([found])[0])


class Projects(Endpoint):
    @route(permission=Permission.VIEW_PROJECT, verb="project.listed")
    @shape(summary="List projects", output=ProjectOutput, listed=True)
    def get(self, request: Request) -> HttpResponse:
        rows = projects_with(self.actor, Permission.VIEW_PROJECT)
        return self.page(rows, lambda found: [outputs.project(row) for row in found])


class Project(Endpoint):
    @route(permission=Permission.VIEW_PROJECT, verb="project.viewed")
    @shape(summary="Show a project", output=ProjectOutput, versioned=True)
    def get(self, request: Request, project_id: UUID) -> HttpResponse:
        return self.show(str(project_id))

    def show(self, asked: str) -> HttpResponse:
        found = project_for(self.actor, asked)
        return self.one(found.version, lambda: outputs.project(found))


class ProjectBySlug(Project):
    @route(permission=Permission.VIEW_PROJECT, verb="project.viewed")
    @shape(summary="Show a project by its slugs", output=ProjectOutput, versioned=True)
    def get(self, request: Request, organization_slug: str, project_slug: str) -> HttpResponse:  # type: ignore[override]
        return self.show(f"{organization_slug}/{project_slug}")


class Memberships(Endpoint):
    @route(permission=AUTHENTICATED, verb="membership.listed")
    @shape(summary="List memberships", output=MembershipOutput, filters=MembershipFilters, listed=True)
    def get(self, request: Request) -> HttpResponse:
        """Everybody's, for those who may see members; else one's own."""
        asked = self.filters(MembershipFilters)
        rows = memberships_visible_to(self.actor)
        if asked.user:
            rows = rows.filter(user_id=asked.user)
        if asked.project:
            rows = rows.filter(project=project_for(self.actor, asked.project))
        if asked.role:
            rows = rows.filter(role=asked.role)
        return self.page(rows, lambda found: [outputs.membership(row) for row in found])


class Roles(Endpoint):
    @route(permission=AUTHENTICATED, verb="role.listed")
    @shape(summary="List roles", output=RoleOutput, listed=True)
    def get(self, request: Request) -> HttpResponse:
        """Which role may do what."""
        return self.whole([_role(role) for role in Role])


def _role(role: Role) -> dict[str, object]:
    return {
        "name": role.value,
        "label": role.label,
        "held_on": "organization" if role in ORGANIZATION_ROLES else "project",
        "permissions": sorted(permissions_of(role)),
    }


def _without_versions(rows: Sequence[dict[str, object]]) -> list[object]:
    return [{name: value for name, value in row.items() if name != "version"} for row in rows]
