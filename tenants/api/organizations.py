"""Organisations and roles."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import NotFound
from core.routes import AUTHENTICATED, route
from tenants.api.outputs import ORGANIZATION_COLUMNS, OrganizationOutput, RoleOutput
from tenants.api.place_inputs import OrganizationChangeInput
from tenants.enums import Permission, Role
from tenants.models import Organization as OrganizationRow
from tenants.roles import ORGANIZATION_ROLES, permissions_of
from tenants.selectors import organizations_visible_to
from tenants.services import organizations


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

    @route(permission=Permission.MANAGE_ORGANIZATION, verb="organization.changed")
    @shape(
        summary="Change an organisation",
        input=OrganizationChangeInput,
        output=OrganizationOutput,
        versioned=True,
        refuses=True,
    )
    def patch(self, request: Request, organization_id: UUID) -> HttpResponse:
        """The one that you act in. Slug and currency are fixed."""
        changed = organizations.change(
            actor=self.actor,
            organization_id=organization_id,
            changes=self.read(OrganizationChangeInput).as_dict(),
            expected_version=self.expected_version(),
            now=self.moment,
        )
        return self.one(changed.version, lambda: organization(changed))


class Roles(Endpoint):
    @route(permission=AUTHENTICATED, verb="role.listed")
    @shape(summary="List roles", output=RoleOutput, listed=True)
    def get(self, request: Request) -> HttpResponse:
        """Which role may do what."""
        return self.whole([_role(role) for role in Role])


def organization(row: OrganizationRow) -> dict[str, object]:
    return {name: getattr(row, name) for name in ORGANIZATION_COLUMNS if name != "version"}


def _role(role: Role) -> dict[str, object]:
    return {
        "name": role.value,
        "label": role.label,
        "held_on": "organization" if role in ORGANIZATION_ROLES else "project",
        "permissions": sorted(permissions_of(role)),
    }


def _without_versions(rows: Sequence[dict[str, object]]) -> list[object]:
    return [{name: value for name, value in row.items() if name != "version"} for row in rows]
