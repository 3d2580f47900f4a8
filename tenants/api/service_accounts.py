"""Service accounts."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.routes import route
from tenants.api import place_outputs
from tenants.api.place_inputs import NewServiceAccountInput, ServiceAccountChangeInput
from tenants.api.place_outputs import ServiceAccountOutput
from tenants.enums import Permission
from tenants.permissions import authorize
from tenants.selectors import organization_of
from tenants.selectors.places import service_accounts_visible_to
from tenants.services import service_accounts

_EXAMPLE = {
    "id": "0199aa00-0000-7000-8000-000000000040",
    "user": "0199aa00-0000-7000-8000-000000000041",
    "name": "nightly training",
    "description": "Retrains the segmenter.",
    "created_at": "2026-11-30T18:00:00Z",
    "disabled_at": None,
}


class ServiceAccounts(Endpoint):
    @route(permission=Permission.MANAGE_SERVICE_ACCOUNTS, verb="service_account.listed")
    @shape(summary="List service accounts", output=ServiceAccountOutput, listed=True, example=_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        authorize(self.actor, Permission.MANAGE_SERVICE_ACCOUNTS, organization_of(self.actor))
        rows = service_accounts_visible_to(self.actor)
        return self.page(rows, lambda found: [place_outputs.service_account(row) for row in found])

    @route(permission=Permission.MANAGE_SERVICE_ACCOUNTS, verb="service_account.created")
    @shape(
        summary="Make a service account",
        input=NewServiceAccountInput,
        output=ServiceAccountOutput,
        status=201,
        refuses=True,
        example=_EXAMPLE,
    )
    def post(self, request: Request) -> HttpResponse:
        """It never signs in and may do nothing until it has a role and a token."""
        asked = self.read(NewServiceAccountInput)
        made = service_accounts.create(
            actor=self.actor,
            organization=organization_of(self.actor),
            name=asked.name,
            description=asked.description,
            now=self.moment,
        )
        location = f"/api/v1/service-accounts/{made.pk}"
        return self.created(place_outputs.service_account(made), location=location, version=made.version)


class ServiceAccount(Endpoint):
    @route(permission=Permission.MANAGE_SERVICE_ACCOUNTS, verb="service_account.viewed")
    @shape(summary="Show a service account", output=ServiceAccountOutput, versioned=True, example=_EXAMPLE)
    def get(self, request: Request, account_id: UUID) -> HttpResponse:
        found = service_accounts.account_by_id(self.actor, account_id)
        return self.one(found.version, lambda: place_outputs.service_account(found))

    @route(permission=Permission.MANAGE_SERVICE_ACCOUNTS, verb="service_account.changed")
    @shape(
        summary="Change a service account",
        input=ServiceAccountChangeInput,
        output=ServiceAccountOutput,
        versioned=True,
        refuses=True,
        example=_EXAMPLE,
    )
    def patch(self, request: Request, account_id: UUID) -> HttpResponse:
        asked = self.read(ServiceAccountChangeInput)
        changed = service_accounts.describe(
            actor=self.actor,
            account_id=account_id,
            name=asked.name,
            description=asked.description,
            expected_version=self.expected_version(),
            now=self.moment,
        )
        return self.one(changed.version, lambda: place_outputs.service_account(changed))

    @route(permission=Permission.MANAGE_SERVICE_ACCOUNTS, verb="service_account.disabled")
    @shape(summary="Disable a service account", output=None, status=204, versioned=True, refuses=True)
    def delete(self, request: Request, account_id: UUID) -> HttpResponse:
        """For good: its tokens end at once and its roles are taken back."""
        service_accounts.disable(
            actor=self.actor, account_id=account_id, expected_version=self.expected_version(), now=self.moment
        )
        return self.nothing()
