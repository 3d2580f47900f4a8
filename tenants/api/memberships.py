"""Memberships: who holds which role where."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import FieldError, Invalid, NotFound
from core.routes import AUTHENTICATED, route
from core.types import Actor
from tenants.api import outputs
from tenants.api.inputs import MembershipFilters
from tenants.api.outputs import MembershipOutput
from tenants.api.place_inputs import NewMembershipInput, RoleChangeInput
from tenants.enums import Permission
from tenants.models import Membership as MembershipRow
from tenants.permissions import Place
from tenants.selectors import organization_of, project_for
from tenants.selectors.places import member_by_id, people_of, place_for
from tenants.services import memberships

_EXAMPLE = {
    "id": "0199aa00-0000-7000-8000-000000000020",
    "user": {"id": "0199aa00-0000-7000-8000-000000000005", "label": "alice@aurora.example"},
    "team": None,
    "project": {"id": "0199aa00-0000-7000-8000-000000000003", "label": "vision"},
    "role": "developer",
    "created_at": "2026-11-30T18:00:00Z",
}


class Memberships(Endpoint):
    @route(permission=AUTHENTICATED, verb="membership.listed")
    @shape(
        summary="List memberships", output=MembershipOutput, filters=MembershipFilters, listed=True, example=_EXAMPLE
    )
    def get(self, request: Request) -> HttpResponse:
        """Everybody's, for those who may see members; those of the places that one leads; one's own."""
        asked = self.filters(MembershipFilters)
        rows = people_of(self.actor)
        if asked.user:
            rows = rows.filter(user_id=asked.user)
        if asked.project:
            rows = rows.filter(project=project_for(self.actor, asked.project))
        if asked.role:
            rows = rows.filter(role=asked.role)
        return self.page(rows, lambda found: [outputs.membership(row) for row in found])

    @route(permission=Permission.MANAGE_MEMBERS, verb="membership.granted")
    @shape(
        summary="Give a role",
        input=NewMembershipInput,
        output=MembershipOutput,
        status=201,
        refuses=True,
        example=_EXAMPLE,
    )
    def post(self, request: Request) -> HttpResponse:
        """To a member or a service account, at one place; the role that it held there before is replaced."""
        asked = self.read(NewMembershipInput)
        place = place_asked(self.actor, team=asked.team, project=asked.project)
        made = memberships.give(
            actor=self.actor, place=place, user=member_by_id(asked.user), role=asked.role, now=self.moment
        )
        return self.created(_shown(self.actor, made), location=f"/api/v1/memberships/{made.pk}")


class Membership(Endpoint):
    @route(permission=Permission.VIEW_MEMBERS, verb="membership.viewed")
    @shape(summary="Show a membership", output=MembershipOutput, example=_EXAMPLE)
    def get(self, request: Request, membership_id: UUID) -> HttpResponse:
        return self.answer(outputs.membership(_found(self.actor, membership_id)))

    @route(permission=Permission.MANAGE_MEMBERS, verb="membership.granted")
    @shape(summary="Change a role", input=RoleChangeInput, output=MembershipOutput, refuses=True, example=_EXAMPLE)
    def patch(self, request: Request, membership_id: UUID) -> HttpResponse:
        found = _found(self.actor, membership_id)
        changed = memberships.give(
            actor=self.actor,
            place=found.place,
            user=found.user,
            role=self.read(RoleChangeInput).role,
            now=self.moment,
        )
        return self.answer(_shown(self.actor, changed))

    @route(permission=Permission.MANAGE_MEMBERS, verb="membership.revoked")
    @shape(summary="Take a role back", output=None, status=204, refuses=True)
    def delete(self, request: Request, membership_id: UUID) -> HttpResponse:
        """One's own may be laid down by anybody; the last owner stays."""
        memberships.take_back(actor=self.actor, membership_id=membership_id, now=self.moment)
        return self.nothing()


def place_asked(actor: Actor, *, team: UUID | None, project: str) -> Place:
    """The place that a body names: a team, a project, or (neither) the organisation."""
    if team is not None and project:
        raise Invalid([FieldError("team", "one_place", "Name a team or a project, not both.")])
    if team is not None:
        return place_for(actor, "team", team)
    return project_for(actor, project) if project else organization_of(actor)


def _found(actor: Actor, membership_id: UUID) -> MembershipRow:
    found = people_of(actor).filter(pk=membership_id).first()
    if found is None:
        raise NotFound("membership", membership_id)
    return found


def _shown(actor: Actor, row: MembershipRow) -> dict[str, object]:
    return outputs.membership(_found(actor, row.pk))
