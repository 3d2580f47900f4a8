"""Teams."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.routes import route
from tenants.api import place_outputs
from tenants.api.place_inputs import NewTeamInput, TeamChangeInput
from tenants.api.place_outputs import TeamOutput
from tenants.enums import Permission
from tenants.permissions import authorize
from tenants.selectors import organization_of
from tenants.selectors.places import teams_visible_to
from tenants.services import teams

_EXAMPLE = {
    "id": "0199aa00-0000-7000-8000-000000000010",
    "slug": "seeing",
    "name": "Seeing",
    "created_at": "2026-11-30T18:00:00Z",
}


class Teams(Endpoint):
    @route(permission=Permission.VIEW_TEAM, verb="team.listed")
    @shape(summary="List teams", output=TeamOutput, listed=True, example=_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        rows = teams_visible_to(self.actor)
        if not rows.exists():
            authorize(self.actor, Permission.VIEW_TEAM, organization_of(self.actor))
        return self.page(rows, lambda found: [place_outputs.team(row) for row in found])

    @route(permission=Permission.MANAGE_TEAM, verb="team.created")
    @shape(summary="Make a team", input=NewTeamInput, output=TeamOutput, status=201, refuses=True, example=_EXAMPLE)
    def post(self, request: Request) -> HttpResponse:
        asked = self.read(NewTeamInput)
        made = teams.create(
            actor=self.actor,
            organization=organization_of(self.actor),
            slug=asked.slug,
            name=asked.name,
            now=self.moment,
        )
        return self.created(place_outputs.team(made), location=f"/api/v1/teams/{made.pk}", version=made.version)


class Team(Endpoint):
    @route(permission=Permission.VIEW_TEAM, verb="team.viewed")
    @shape(summary="Show a team", output=TeamOutput, versioned=True, example=_EXAMPLE)
    def get(self, request: Request, team_id: UUID) -> HttpResponse:
        found = teams.team_by_id(self.actor, team_id)
        return self.one(found.version, lambda: place_outputs.team(found))

    @route(permission=Permission.MANAGE_TEAM, verb="team.renamed")
    @shape(
        summary="Rename a team",
        input=TeamChangeInput,
        output=TeamOutput,
        versioned=True,
        refuses=True,
        example=_EXAMPLE,
    )
    def patch(self, request: Request, team_id: UUID) -> HttpResponse:
        changed = teams.rename(
            actor=self.actor,
            team_id=team_id,
            name=self.read(TeamChangeInput).name,
            expected_version=self.expected_version(),
            now=self.moment,
        )
        return self.one(changed.version, lambda: place_outputs.team(changed))

    @route(permission=Permission.MANAGE_TEAM, verb="team.deleted")
    @shape(summary="Delete a team", output=None, status=204, versioned=True, refuses=True)
    def delete(self, request: Request, team_id: UUID) -> HttpResponse:
        """The roles held on it end. Refused, with each as a reason, while projects belong to it."""
        teams.delete(actor=self.actor, team_id=team_id, expected_version=self.expected_version(), now=self.moment)
        return self.nothing()
