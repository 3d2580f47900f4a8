"""An organisation, with its end: closing joins tenancy and billing, so it is put together here."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from core.api.fields import MoneyOutput
from core.api.shapes import shape
from core.errors import FieldError, Invalid, NotFound
from core.routes import route
from portal.closing import final_bill, totals
from tenants.api import organizations
from tenants.api.outputs import OrganizationOutput
from tenants.api.place_inputs import ClosingInput
from tenants.enums import Permission
from tenants.permissions import authorize
from tenants.selectors import organization_of
from tenants.services import closing


class FinalMonthOutput(serializers.Serializer[object]):
    month = serializers.CharField()
    total = MoneyOutput(help_text="Before tax.")


class ClosedOrganizationOutput(OrganizationOutput):
    final_bill = FinalMonthOutput(many=True, help_text="What each open month comes to.")


class Organization(organizations.Organization):
    @route(permission=Permission.CLOSE_ORGANIZATION, verb="organization.closed")
    @shape(
        summary="Close an organisation",
        input=ClosingInput,
        output=ClosedOrganizationOutput,
        versioned=True,
        refuses=True,
    )
    def delete(self, request: Request, organization_id: UUID) -> HttpResponse:
        """For good, with the final bill. Refused, with each as a reason, while something lives in its projects.

        The body says its slug: `{"slug": "aurora"}`, and 400 answers any other.

        All tokens end with it, the one that asks too; what it used and did stays readable in the portal.
        """
        organization = organization_of(self.actor)
        if organization.pk != organization_id:
            raise NotFound("organization", organization_id)
        authorize(self.actor, Permission.CLOSE_ORGANIZATION, organization)
        confirmed = self.read(ClosingInput).slug
        if confirmed != organization.slug:
            raise Invalid([FieldError("slug", "not_the_slug", f"Send {organization.slug} to confirm.")])
        closed = closing.close(
            actor=self.actor,
            organization=organization,
            confirmed=confirmed,
            final_bill=partial(totals, self.actor, self.moment),
            expected_version=self.expected_version(),
            now=self.moment,
        )
        months = [{"month": row.month, "total": row.total} for row in final_bill(self.actor, self.moment)]
        return self.one(closed.version, lambda: {**organizations.organization(closed), "final_bill": months})
