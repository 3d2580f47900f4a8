"""Credits and write-offs above the seller's limit: asked, agreed to by somebody else, done once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from billing.enums import GrantKind, InvoiceState
from billing.models import CreditGrant, InvoiceDocument, InvoiceStanding, WriteOff
from billing.services import approved, grants, notes, payments
from core import scope
from core.errors import Forbidden, NotFound, Refused
from tenants.enums import PlatformRole
from tenants.models import Approval
from tenants.services import approvals
from tests import house
from tests.billing import books
from tests.billing.shop import H100, LONG_AGO, at, hold, sell

pytestmark = pytest.mark.django_db
LATER = datetime(2026, 12, 5, tzinfo=UTC)


@pytest.fixture
def tenant(db):
    made = house.found("aurora", projects=("vision",), currency="EUR")
    house.join(made, "olivia", "owner")
    house.platform_person(made, "petra", PlatformRole.ADMIN)
    house.platform_person(made, "paul", PlatformRole.ADMIN)
    sell(H100, ("900", LONG_AGO), currency="EUR")
    hold(made, project="vision", since=at(3), until=at(3, 1))
    books.open_books(made, seller=replace(books.SELLER, second_person_above=Decimal(500)))
    return made


def write_off(tenant, invoice, who):
    with house.an_act(), tenant.scope():
        return payments.write_off(actor=tenant.actor(who), invoice_id=invoice.pk, reason="Insolvent.", now=LATER)


def decide(tenant, who, verdict=approvals.approve):
    with tenant.scope():
        asked = Approval.objects.get()
    with house.an_act(), scope.of_platform():
        return verdict(actor=tenant.actor(who), approval_id=asked.pk, now=LATER)


class TestAboveTheLimit:
    def test_a_write_off_waits_for_somebody_else_and_is_done_once(self, tenant):
        invoice = books.issue(tenant, "2026-11", LATER)

        assert write_off(tenant, invoice, "petra") is None
        with pytest.raises(Refused, match="own request"):
            decide(tenant, "petra")
        decide(tenant, "paul")
        done = [approved.do_due(now=LATER), approved.do_due(now=LATER)]

        assert done == [1, 0]
        with tenant.scope():
            assert WriteOff.objects.get().amount == invoice.total
            assert InvoiceStanding.objects.get().state == InvoiceState.WRITTEN_OFF

    def test_refused_it_is_never_done(self, tenant):
        write_off(tenant, books.issue(tenant, "2026-11", LATER), "petra")

        decide(tenant, "paul", approvals.refuse)

        assert approved.do_due(now=LATER) == 0

    def test_a_void_and_a_grant_wait_too_and_a_small_note_does_not(self, tenant):
        invoice = books.issue(tenant, "2026-11", LATER)
        words = {"actor": tenant.actor("petra"), "invoice_id": invoice.pk, "reason": "Wrong.", "now": LATER}

        with house.an_act(), tenant.scope():
            small = notes.credit(credits={1: Decimal("100.00")}, **words)
        with house.an_act(), tenant.scope():
            assert notes.void(replace=True, **words) is None
        decide(tenant, "paul")
        approved.do_due(now=LATER)

        assert small is not None
        assert small.total == Decimal(120)
        with tenant.scope():
            assert InvoiceDocument.objects.count() == 4
            assert InvoiceStanding.objects.get(invoice=invoice).state == InvoiceState.VOID

    def test_a_large_promotion_waits(self, tenant):
        with house.an_act(), tenant.scope():
            waits = grants.grant(
                actor=tenant.actor("petra"),
                organization_id=tenant.organization.pk,
                kind=GrantKind.PROMOTIONAL,
                key="sorry",
                label="Outage of 3 November",
                amount=Decimal(600),
                expires_at=None,
                now=LATER,
            )
        decide(tenant, "paul")
        approved.do_due(now=LATER)

        assert waits is None
        with tenant.scope():
            assert CreditGrant.objects.get().amount == Decimal(600)

    def test_the_customers_own_people_do_none_of_it(self, tenant):
        invoice = books.issue(tenant, "2026-11", LATER)

        with pytest.raises((NotFound, Forbidden)):
            write_off(tenant, invoice, "olivia")
