"""Invitations. They are taken up in a browser, where the link leads: before, one belongs to nothing here."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import NotFound
from core.routes import route
from tenants.api import place_outputs
from tenants.api.memberships import place_asked
from tenants.api.place_inputs import InvitationFilters, NewInvitationInput
from tenants.api.place_outputs import InvitationOutput, NewInvitationOutput
from tenants.enums import Permission
from tenants.models import Invitation as InvitationRow
from tenants.permissions import authorize
from tenants.selectors import organization_of
from tenants.selectors.places import invitations_visible_to, leads_somewhere
from tenants.services import invitations
from tenants.services.invitation_mail import link_of

_EXAMPLE = {
    "id": "0199aa00-0000-7000-8000-000000000030",
    "email": "noor@example.com",
    "role": "developer",
    "team": None,
    "project": {"id": "0199aa00-0000-7000-8000-000000000003", "label": "vision"},
    "state": "open",
    "invited_by": "0199aa00-0000-7000-8000-000000000005",
    "created_at": "2026-11-30T18:00:00Z",
    "expires_at": "2026-12-07T18:00:00Z",
    "mailed_at": "2026-11-30T18:00:01Z",
    "mail_error": "",
}
_NEW = {**_EXAMPLE, "mailed_at": None, "link": "https://steelyard.example/join?code=…"}


class Invitations(Endpoint):
    @route(permission=Permission.VIEW_MEMBERS, verb="invitation.listed")
    @shape(
        summary="List invitations", output=InvitationOutput, filters=InvitationFilters, listed=True, example=_EXAMPLE
    )
    def get(self, request: Request) -> HttpResponse:
        rows = invitations_visible_to(self.actor)
        if not leads_somewhere(self.actor, Permission.VIEW_MEMBERS):
            authorize(self.actor, Permission.VIEW_MEMBERS, organization_of(self.actor))
        rows = self._in_state(rows, self.filters(InvitationFilters).state)
        return self.page(rows, lambda found: [place_outputs.invitation(row, self.moment) for row in found])

    @route(permission=Permission.MANAGE_MEMBERS, verb="invitation.created")
    @shape(
        summary="Invite an address",
        input=NewInvitationInput,
        output=NewInvitationOutput,
        status=201,
        refuses=True,
        example=_NEW,
    )
    def post(self, request: Request) -> HttpResponse:
        """A mail with the link goes out; the link is in this answer too, and nowhere else."""
        asked = self.read(NewInvitationInput)
        place = place_asked(self.actor, team=asked.team, project=asked.project)
        made, secret = invitations.create(
            actor=self.actor, place=place, email=asked.email, role=asked.role, now=self.moment
        )
        body = place_outputs.invitation(made, self.moment)
        return self.created(
            {**body, "link": link_of(secret)}, location=f"/api/v1/invitations/{made.pk}", secrets=("link",)
        )

    def _in_state(self, rows: QuerySet[InvitationRow], state: str) -> QuerySet[InvitationRow]:
        if state == "accepted":
            return rows.filter(accepted_at__isnull=False)
        if state == "revoked":
            return rows.filter(revoked_at__isnull=False)
        waiting = rows.filter(accepted_at=None, revoked_at=None)
        if state == "open":
            return waiting.filter(expires_at__gt=self.moment)
        return waiting.filter(expires_at__lte=self.moment) if state == "expired" else rows


class Invitation(Endpoint):
    @route(permission=Permission.VIEW_MEMBERS, verb="invitation.viewed")
    @shape(summary="Show an invitation", output=InvitationOutput, example=_EXAMPLE)
    def get(self, request: Request, invitation_id: UUID) -> HttpResponse:
        found = invitations_visible_to(self.actor).filter(pk=invitation_id).first()
        if found is None:
            raise NotFound("invitation", invitation_id)
        return self.answer(place_outputs.invitation(found, self.moment))

    @route(permission=Permission.MANAGE_MEMBERS, verb="invitation.revoked")
    @shape(summary="Take an invitation back", output=None, status=204, refuses=True)
    def delete(self, request: Request, invitation_id: UUID) -> HttpResponse:
        """Its link is dead at once."""
        invitations.revoke(actor=self.actor, invitation_id=invitation_id, now=self.moment)
        return self.nothing()


class Resend(Endpoint):
    @route(permission=Permission.MANAGE_MEMBERS, verb="invitation.resent")
    @shape(summary="Send an invitation again", output=NewInvitationOutput, refuses=True, example=_NEW)
    def post(self, request: Request, invitation_id: UUID) -> HttpResponse:
        """A new link for seven more days; the old one is dead."""
        again, secret = invitations.resend(actor=self.actor, invitation_id=invitation_id, now=self.moment)
        body = place_outputs.invitation(again, self.moment)
        return self.answer({**body, "link": link_of(secret)}, secrets=("link",))
