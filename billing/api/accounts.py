"""Parties, credit, the ledger and the statement of an organisation."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from django.http import HttpResponse
from rest_framework.request import Request

from billing.api import document_examples as examples
from billing.api import document_shapes as shapes
from billing.api.document_inputs import GrantingInput, ProfileInput
from billing.api.document_shapes import (
    AccountOutput,
    EntryOutput,
    GrantOutput,
    ProfileOutput,
    SellerOutput,
    StatementOutput,
)
from billing.enums import GrantKind
from billing.models import CreditGrant
from billing.selectors.credits import left_by_grant
from billing.selectors.ledger import billing_profiles, grants_of, ledger_accounts, ledger_entries
from billing.selectors.parties import seller_at
from billing.selectors.statements import statement
from billing.services import grants, parties
from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import NotFound
from core.routes import AUTHENTICATED, route
from tenants.enums import Permission, PlatformPermission
from tenants.selectors import organization_of


class Seller(Endpoint):
    @route(permission=AUTHENTICATED, verb="seller.viewed")
    @shape(summary="Show who sells", output=SellerOutput, example=examples.SELLER)
    def get(self, request: Request) -> HttpResponse:
        """The company that invoices name now."""
        found = seller_at(self.moment)
        if found is None:
            raise NotFound("seller", "now")
        return self.answer(shapes.seller(found))


class BillingProfiles(Endpoint):
    @route(permission=Permission.VIEW_INVOICE, verb="billing_profile.listed")
    @shape(summary="List billing profiles", output=ProfileOutput, listed=True, example=examples.PROFILE)
    def get(self, request: Request) -> HttpResponse:
        """Whom your invoices name, newest version first."""
        return self.page(billing_profiles(self.actor), lambda found: [shapes.profile(row) for row in found])

    @route(permission=Permission.MANAGE_BILLING, verb="billing_profile.set")
    @shape(
        summary="Set the billing profile",
        input=ProfileInput,
        output=ProfileOutput,
        status=201,
        refuses=True,
        example=examples.PROFILE,
    )
    def post(self, request: Request) -> HttpResponse:
        """A version from now on. What was issued keeps its own."""
        made = parties.set_profile(
            actor=self.actor,
            organization=organization_of(self.actor),
            facts=self.read(ProfileInput),
            now=self.moment,
        )
        return self.created(shapes.profile(made), location="/api/v1/billing-profiles")


class CreditGrants(Endpoint):
    @route(permission=Permission.VIEW_INVOICE, verb="credit.listed")
    @shape(summary="List credit", output=GrantOutput, listed=True, example=examples.GRANT)
    def get(self, request: Request) -> HttpResponse:
        return self.page(grants_of(self.actor), _grants)

    @route(permission=PlatformPermission.MANAGE_INVOICES, verb="credit.granted")
    @shape(
        summary="Grant credit",
        input=GrantingInput,
        output=GrantOutput,
        status=201,
        refuses=True,
        example=examples.GRANT,
        answers={202: "It is above the limit, and waits for a second person's agreement."},
    )
    def post(self, request: Request) -> HttpResponse:
        """Promotional credit, or prepaid credit whose money has come. The same key gives the same grant, once."""
        asked = self.read(GrantingInput)
        made = grants.grant(
            actor=self.actor,
            organization_id=organization_of(self.actor).pk,
            kind=GrantKind(asked.kind),
            key=asked.key,
            label=asked.label,
            amount=Decimal(asked.amount),
            expires_at=asked.expires_at,
            now=self.moment,
        )
        where = "/api/v1/credit-grants"
        if made is None:
            return self.accepted({"state": "waiting", "key": asked.key}, location="/api/v1/approvals")
        return self.created(_grants([made])[0], location=where)


class LedgerAccounts(Endpoint):
    @route(permission=Permission.VIEW_INVOICE, verb="ledger.listed")
    @shape(summary="List ledger accounts", output=AccountOutput, listed=True, example=examples.ACCOUNT)
    def get(self, request: Request) -> HttpResponse:
        return self.page(ledger_accounts(self.actor), lambda found: [shapes.account(row) for row in found])


class LedgerEntries(Endpoint):
    @route(permission=Permission.VIEW_INVOICE, verb="ledger.listed")
    @shape(summary="List ledger entries", output=EntryOutput, listed=True, example=examples.ENTRY)
    def get(self, request: Request) -> HttpResponse:
        """Never changed. The entries of one transaction sum to zero."""
        return self.page(ledger_entries(self.actor), lambda found: [shapes.entry(row) for row in found])


class Statements(Endpoint):
    @route(permission=Permission.VIEW_INVOICE, verb="statement.viewed")
    @shape(summary="Show the statement", output=StatementOutput, example=examples.STATEMENT)
    def get(self, request: Request) -> HttpResponse:
        """Every document, payment and write-off, with what was open after each."""
        return self.answer(shapes.statement(statement(self.actor)))


def _grants(rows: Sequence[CreditGrant]) -> list[object]:
    left = left_by_grant(rows)
    return [shapes.credit_grant(row, left[row.pk]) for row in rows]
