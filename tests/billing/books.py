"""A seller, rates and a complete profile for the tests of invoices, made by the services that production uses."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from billing.services import invoices, parties
from core import scope
from tests import house
from tests.billing.shop import LONG_AGO

SELLER = parties.SellerFacts(
    legal_name="Steelyard Cloud GmbH",
    street="Lindenstraße 12",
    postcode="10969",
    city="Berlin",
    country="DE",
    tax_id="DE123456789",
    registration="HRB 4711 B, Amtsgericht Charlottenburg",
    email="billing@steelyard.example",
    bank_name="Berliner Bank",
    iban="DE89370400440532013000",
    bic="COBADEFFXXX",
    second_person_above=Decimal(1000),
)
PROFILE = parties.ProfileFacts(
    legal_name="Aurora Research GmbH",
    street="Sternwartstraße 5",
    postcode="40223",
    city="Düsseldorf",
    country="DE",
    tax_id="DE987654321",
    terms_days=14,
    purchase_order="PO-2026-77",
    recipients=("finance@aurora.example",),
    language="en",
)


def open_books(*tenants, rate: str = "0.20", seller=SELLER, profile=PROFILE) -> None:
    """The platform can sell, and each tenant can be billed."""
    with house.an_act(), scope.of_platform():
        parties.set_seller(actor=house.SYSTEM, facts=seller, valid_from=LONG_AGO, now=LONG_AGO)
    if rate:
        with house.an_act(), scope.of_platform():
            parties.set_tax_rate(
                actor=house.SYSTEM, country="DE", rate=Decimal(rate), valid_from=LONG_AGO, now=LONG_AGO
            )
    for tenant in tenants:
        describe(tenant, profile)


def describe(tenant, profile=PROFILE, *, now: datetime = datetime(2026, 1, 1, tzinfo=UTC), **changes):
    with house.an_act(), tenant.scope():
        return parties.set_profile(
            actor=tenant.system, organization=tenant.organization, facts=replace(profile, **changes), now=now
        )


def issue(tenant, month: str, now: datetime) -> Any:
    with house.an_act(), tenant.scope():
        return invoices.issue(actor=tenant.system, organization_id=tenant.organization.pk, month=month, now=now)
