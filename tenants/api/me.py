"""Who one is, and what one may do where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core import scope
from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.routes import AUTHENTICATED, route
from core.types import Actor
from tenants.api.outputs import MeOutput
from tenants.enums import Permission
from tenants.permissions import permissions_by_project, permissions_on
from tenants.selectors import organization_ids_of_user, organization_of, people_by_id, projects_with


class Me(Endpoint):
    needs_organization = False

    @route(permission=AUTHENTICATED, verb="person.viewed", scoped=False)
    @shape(summary="Show who you are", output=MeOutput)
    def get(self, request: Request) -> HttpResponse:
        """Person, organisations and projects, with your permissions in each. A token shows its own organisation."""
        assert self.actor.id is not None
        person = people_by_id([self.actor.id])[self.actor.id]
        places = [_place(self.actor, organization_id) for organization_id in _organizations(self.actor)]
        return self.answer(
            {
                "person": {
                    "id": person.pk,
                    "email": person.email,
                    "full_name": person.full_name,
                    "time_zone": person.time_zone,
                    "platform_role": person.platform_role,
                },
                "organizations": [organization for organization, _ in places],
                "projects": [project for _, projects in places for project in projects],
            }
        )


def _organizations(actor: Actor) -> list[UUID]:
    if (actor.token_id is not None or actor.bound) and actor.organization_id is not None:
        return [actor.organization_id]
    return organization_ids_of_user(actor.id) if actor.id else []


def _place(actor: Actor, organization_id: UUID) -> tuple[dict[str, object], list[dict[str, object]]]:
    """One organisation and the projects seen in it, read in a scope of its own."""
    there = replace(actor, organization_id=organization_id)
    with scope.of_organization(organization_id, user_id=actor.id):
        organization = organization_of(there)
        found = {
            "id": organization.pk,
            "slug": organization.slug,
            "name": organization.name,
            "active": organization.pk == actor.organization_id,
            "permissions": sorted(permissions_on(there, organization)),
        }
        return found, list(_projects(there))


def _projects(actor: Actor) -> Iterator[dict[str, object]]:
    rows = list(projects_with(actor, Permission.VIEW_PROJECT))
    held = permissions_by_project(actor, [row.pk for row in rows])
    for row in rows:
        yield {
            "id": row.pk,
            "organization": row.organization_id,
            "slug": row.slug,
            "name": row.name,
            "permissions": sorted(held[row.pk]),
        }
