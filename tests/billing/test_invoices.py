"""Invoices through the real path: facts in, run, documents out, and what the database refuses afterwards."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import Error, connection, transaction

from billing.enums import AccountKind, DocumentKind, GrantKind, InvoiceState
from billing.invoicing.canonical import Link, chained, faults
from billing.models import InvoiceDocument, InvoiceHold, InvoiceStanding, LedgerAccount
from billing.services import grants, ledger, notes, parties, payments, prices, runs
from core import scope
from core.errors import Conflict, Refused
from tests import house
from tests.billing import books
from tests.billing.shop import H100, LONG_AGO, at, hold, sell

pytestmark = pytest.mark.django_db
LATER = datetime(2026, 12, 5, tzinfo=UTC)
EARLIER = at(1, month=10)
LINES = ("68.33", "68.33", "57.50", "85.00")


@pytest.fixture
def tenant(db):
    made = house.found("aurora", projects=("p1", "p2", "p3", "p4"), currency="EUR")
    house.join(made, "billie", "billing")
    return made


def a_line(tenant, project, amount, *, code):
    """One device for one hour of November, at that price."""
    sell(code, (amount, LONG_AGO), currency="EUR")
    hold(tenant, project=project, sku=code, since=at(3), until=at(3, 1))


@pytest.fixture
def four_lines(tenant):
    for number, amount in enumerate(LINES, start=1):
        a_line(tenant, f"p{number}", amount, code=f"gpu-{number}")
    return tenant


def balances(tenant):
    with tenant.scope():
        return {row.kind: row.balance for row in LedgerAccount.objects.all() if row.balance}


def standing(tenant, invoice):
    with tenant.scope():
        return InvoiceStanding.objects.get(invoice=invoice)


def credit(tenant, invoice, credits, now=LATER, actor=None):
    with house.an_act(), tenant.scope():
        return notes.credit(
            actor=actor or tenant.system,
            invoice_id=invoice.pk,
            credits={position: Decimal(amount) for position, amount in credits.items()},
            reason="Wrong node.",
            now=now,
        )


def void(tenant, invoice, *, replace, now=LATER, actor=None):
    with house.an_act(), tenant.scope():
        return notes.void(
            actor=actor or tenant.system, invoice_id=invoice.pk, reason="Wrong address.", replace=replace, now=now
        )


def pay(tenant, invoice, amount, *, reference="T-1", now=LATER):
    with house.an_act(), tenant.scope():
        return payments.mark_paid(
            actor=tenant.system,
            invoice_id=invoice.pk,
            amount=Decimal(amount),
            reference=reference,
            received_on=date(2026, 12, 5),
            now=now,
        )


def give(tenant, kind, key, amount, *, expires_at=None, now=EARLIER):
    with house.an_act(), tenant.scope():
        return grants.grant(
            actor=tenant.system,
            organization_id=tenant.organization.pk,
            kind=kind,
            key=key,
            label=key,
            amount=Decimal(amount),
            expires_at=expires_at,
            now=now,
        )


class TestIssuing:
    def test_c92_four_full_credit_notes_sum_to_the_invoice(self, four_lines):
        books.open_books(four_lines)

        invoice = books.issue(four_lines, "2026-11", LATER)
        given = [credit(four_lines, invoice, {number: amount}) for number, amount in enumerate(LINES, start=1)]

        assert (invoice.net, invoice.tax, invoice.total) == (Decimal("279.16"), Decimal("55.83"), Decimal("334.99"))
        assert sum(note.total for note in given) == Decimal("334.99")
        assert [str(note.net.quantize(Decimal("0.01"))) for note in given] == list(LINES)
        assert standing(four_lines, invoice).state == InvoiceState.CREDITED
        assert balances(four_lines) == {}

    def test_more_than_is_left_of_a_line_is_refused(self, four_lines):
        books.open_books(four_lines)
        invoice = books.issue(four_lines, "2026-11", LATER)
        credit(four_lines, invoice, {1: "60.00"})

        with pytest.raises(Refused) as refused:
            credit(four_lines, invoice, {1: "8.34", 9: "1.00"})

        assert [reason.code for reason in refused.value.reasons] == ["more_than_left", "no_such_line"]

    def test_asked_twice_it_is_one_invoice_and_one_number(self, four_lines):
        books.open_books(four_lines)

        first, again = (books.issue(four_lines, "2026-11", LATER) for _ in range(2))

        assert first == again
        assert first.number == "AURORA-000001"

    def test_waits_for_the_grace_and_for_every_missing_field_by_name(self, four_lines):
        incomplete = parties.ProfileFacts(legal_name="Aurora", country="DE", tax_status="exempt")
        books.open_books(four_lines, profile=incomplete)

        with pytest.raises(Refused) as early:
            books.issue(four_lines, "2026-11", at(3, month=12))
        with pytest.raises(Refused) as lacking:
            books.issue(four_lines, "2026-11", LATER)

        assert [reason.code for reason in early.value.reasons] == ["grace_window"]
        assert [reason.code for reason in lacking.value.reasons] == [
            "billing_profile_street_missing",
            "billing_profile_postcode_missing",
            "billing_profile_city_missing",
            "billing_profile_tax_id_missing",
        ]

    def test_numbers_have_no_gap_and_the_chain_holds(self, four_lines):
        books.open_books(four_lines)
        hold(four_lines, project="p1", sku="gpu-1", since=at(3, month=10), until=at(4, month=10))
        october = books.issue(four_lines, "2026-10", LATER)
        november = books.issue(four_lines, "2026-11", LATER)
        void(four_lines, november, replace=True)

        with four_lines.scope():
            rows = InvoiceDocument.objects.filter(kind=DocumentKind.INVOICE).order_by("sequence")
            links = [Link(row.sequence, row.number, row.body, row.previous_hash, row.hash) for row in rows]

        assert [link.number for link in links] == [f"AURORA-{number:06d}" for number in (1, 2, 3)]
        assert links[0].number == october.number
        assert faults(links) == []
        assert faults(links[1:])


class TestFrozen:
    def test_c95_later_changes_of_price_name_and_tax_change_no_byte(self, four_lines):
        books.open_books(four_lines)
        before = books.issue(four_lines, "2026-11", LATER)

        with house.an_act(), scope.of_platform():
            prices.publish_price(
                actor=house.SYSTEM,
                sku_code="gpu-1",
                currency="EUR",
                unit_price=Decimal("99"),
                valid_from=LATER + timedelta(days=1),
                now=LATER,
            )
        books.describe(four_lines, legal_name="Nova AG", street="Elsewhere 1", now=LATER)
        with house.an_act(), scope.of_platform():
            parties.set_tax_rate(actor=house.SYSTEM, country="DE", rate=Decimal("0.25"), valid_from=at(1), now=LATER)

        with four_lines.scope():
            after = InvoiceDocument.objects.get(pk=before.pk)
        assert (after.body, after.hash) == (before.body, before.hash)
        assert after.hash == chained(after.body, after.previous_hash)
        assert json.loads(after.body)["buyer"]["legal_name"] == "Aurora Research GmbH"

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE billing_invoicedocument SET body = 'x'",
            "DELETE FROM billing_invoicedocument",
            "UPDATE billing_ledgerentry SET amount = amount * 2",
            "DELETE FROM billing_ledgertransaction",
            "UPDATE billing_payment SET amount = 1",
            "UPDATE billing_creditgrant SET amount = 1",
        ],
    )
    def test_c96_the_database_refuses_to_change_it_even_to_its_owner(self, four_lines, statement):
        books.open_books(four_lines)
        give(four_lines, GrantKind.PREPAID, "bought", "10.00")
        invoice = books.issue(four_lines, "2026-11", LATER)
        pay(four_lines, invoice, "1.00")

        with pytest.raises(Error, match="never changed nor deleted"), transaction.atomic(), connection.cursor() as to:
            to.execute(statement)

    def test_c96_a_replacement_refers_to_the_void_one_and_carries_all_lines(self, four_lines):
        books.open_books(four_lines)
        give(four_lines, GrantKind.PROMOTIONAL, "welcome", "20.00", expires_at=at(1, month=12) + timedelta(days=60))
        invoice = books.issue(four_lines, "2026-11", LATER)
        pay(four_lines, invoice, "100.00")
        books.describe(four_lines, legal_name="Nova AG", now=LATER)

        note, new = void(four_lines, invoice, replace=True)

        old_says, new_says = json.loads(invoice.body), json.loads(new.body)
        assert new_says["replaces"] == invoice.number
        assert new_says["buyer"]["legal_name"] == "Nova AG"
        assert new_says["lines"] == old_says["lines"]
        assert invoice.total - note.total + new.total == invoice.total
        assert new_says["prepaid"][0]["amount"] == "100.00"
        assert standing(four_lines, invoice).state == InvoiceState.VOID
        assert standing(four_lines, new).open == invoice.total - 100
        assert balances(four_lines)["receivable"] == invoice.total - 100

    def test_a_void_invoice_takes_no_payment_and_no_second_void(self, four_lines):
        books.open_books(four_lines)
        invoice = books.issue(four_lines, "2026-11", LATER)
        void(four_lines, invoice, replace=False)

        with pytest.raises(Refused, match="void"):
            pay(four_lines, invoice, "1.00")
        with pytest.raises(Refused, match="void"):
            void(four_lines, invoice, replace=True)


class TestRun:
    def test_c97_a_source_that_cannot_be_read_holds_the_invoice_and_the_next_run_issues_it(self, four_lines):
        books.open_books(four_lines)
        with connection.cursor() as cursor:
            cursor.execute("REVOKE SELECT ON billing_price FROM steelyard_app")

        broken = runs.run(now=LATER)
        with four_lines.scope():
            held = InvoiceHold.objects.get()
            nothing = InvoiceDocument.objects.count()
        with connection.cursor() as cursor:
            cursor.execute("GRANT SELECT ON billing_price TO steelyard_app")
        whole = runs.run(now=LATER + timedelta(hours=1))

        assert (broken.issued, nothing) == ([], 0)
        assert [reason["code"] for reason in held.reasons] == ["input_missing"]
        assert whole.issued == ["AURORA-000001"]
        with four_lines.scope():
            assert InvoiceDocument.objects.get().total == Decimal("334.99")
            assert not InvoiceHold.objects.exists()

    def test_what_lacks_is_held_with_every_reason_and_others_are_issued(self, four_lines):
        other = house.found("borealis", projects=("drugs",), currency="EUR")
        hold(other, project="drugs", sku="gpu-1", since=at(3), until=at(4))
        books.open_books(four_lines)

        outcome = runs.run(now=LATER)

        assert outcome.issued == ["AURORA-000001"]
        with other.scope():
            assert [reason["code"] for reason in InvoiceHold.objects.get().reasons] == ["billing_profile_missing"]

    def test_c109_a_closed_organisation_gets_its_last_invoice_to_the_last_second(self, tenant):
        sell(H100, ("3600", LONG_AGO), currency="EUR")
        books.open_books(tenant)
        hold(tenant, project="p1", since=at(10), until=at(10, 5) + timedelta(seconds=1))
        tenant.organization.closed_at = at(10, 6)
        with tenant.scope():
            tenant.organization.save(update_fields=["closed_at"])

        outcome = runs.run(now=at(10, 7))

        assert outcome.issued == ["AURORA-000001"]
        with tenant.scope():
            assert InvoiceDocument.objects.get().net == Decimal(5 * 3600 + 1)

    def test_c109_not_while_something_is_still_held(self, tenant):
        sell(H100, ("3600", LONG_AGO), currency="EUR")
        books.open_books(tenant)
        hold(tenant, project="p1", since=at(10))
        tenant.organization.closed_at = at(10, 6)
        with tenant.scope():
            tenant.organization.save(update_fields=["closed_at"])

        assert [due.month for due in runs.run(now=at(10, 7)).held] == ["2026-11"]


class TestCredits:
    def test_promotions_reduce_before_tax_prepaid_pays_after_first_to_expire_first(self, tenant):
        """The worked month 12: 320.50 − 60.00, 20 % tax 52.10, total 312.60, less 100.00 prepaid: 212.60."""
        a_line(tenant, "p1", "320.50", code="gpu-1")
        books.open_books(tenant)
        give(tenant, GrantKind.PROMOTIONAL, "p1", "50.00", expires_at=datetime(2027, 6, 1, tzinfo=UTC))
        give(tenant, GrantKind.PROMOTIONAL, "p2", "10.00", expires_at=datetime(2027, 1, 1, tzinfo=UTC))
        give(tenant, GrantKind.PROMOTIONAL, "p0", "25.00", expires_at=at(29))
        give(tenant, GrantKind.PREPAID, "c1", "100.00", expires_at=datetime(2027, 6, 1, tzinfo=UTC))

        says = json.loads(books.issue(tenant, "2026-11", LATER).body)

        assert [use["label"] for use in says["promotions"]] == ["p2", "p1"]
        assert (says["net"], says["tax"]["amount"], says["total"], says["due"]) == (
            "260.50",
            "52.10",
            "312.60",
            "212.60",
        )

    def test_c110_edits_within_the_period_give_no_credit_again(self, tenant):
        sell(H100, ("2.50", LONG_AGO), currency="EUR")
        books.open_books(tenant)
        first = give(tenant, GrantKind.PROMOTIONAL, "plan/2026-11", "50.00")

        books.describe(tenant, terms_days=30, now=at(5))
        again = give(tenant, GrantKind.PROMOTIONAL, "plan/2026-11", "50.00", now=at(6))

        assert again == first
        assert balances(tenant)["promotions"] == Decimal(-50)
        with pytest.raises(Conflict, match="other content"):
            give(tenant, GrantKind.PROMOTIONAL, "plan/2026-11", "60.00")

    def test_what_expires_unused_lapses_once(self, tenant):
        give(tenant, GrantKind.PROMOTIONAL, "welcome", "50.00", expires_at=at(1))

        assert [grants.lapse_due(now=LATER), grants.lapse_due(now=LATER)] == [1, 0]
        assert balances(tenant) == {}


class TestPaying:
    def test_parts_sum_up_and_the_same_transfer_counts_once(self, four_lines):
        books.open_books(four_lines)
        invoice = books.issue(four_lines, "2026-11", LATER)

        pay(four_lines, invoice, "100.00", reference="A")
        pay(four_lines, invoice, "100.00", reference="A")
        part = standing(four_lines, invoice)
        pay(four_lines, invoice, "234.99", reference="B")

        assert (part.state, part.open) == (InvoiceState.PARTIALLY_PAID, Decimal("234.99"))
        assert standing(four_lines, invoice).state == InvoiceState.PAID
        assert "receivable" not in balances(four_lines)

    def test_more_than_is_open_is_refused(self, four_lines):
        books.open_books(four_lines)
        invoice = books.issue(four_lines, "2026-11", LATER)

        with pytest.raises(Refused, match=r"334\.99"):
            pay(four_lines, invoice, "335.00")

    def test_what_was_paid_and_is_credited_goes_to_the_wallet(self, four_lines):
        books.open_books(four_lines)
        invoice = books.issue(four_lines, "2026-11", LATER)
        pay(four_lines, invoice, "334.99")

        credit(four_lines, invoice, {4: "85.00"})

        assert balances(four_lines)["wallet"] == Decimal("-102.00")
        assert "receivable" not in balances(four_lines)

    def test_becomes_overdue_when_its_last_day_has_passed_in_its_own_zone(self, four_lines):
        books.open_books(four_lines)
        invoice = books.issue(four_lines, "2026-11", LATER)
        end_of_19th_in_berlin = datetime(2026, 12, 19, 23, tzinfo=UTC)

        swept = [
            payments.sweep_overdue(now=end_of_19th_in_berlin - timedelta(seconds=1)),
            payments.sweep_overdue(now=end_of_19th_in_berlin),
            payments.sweep_overdue(now=end_of_19th_in_berlin),
        ]

        assert swept == [0, 1, 0]
        assert standing(four_lines, invoice).state == InvoiceState.OVERDUE

    def test_written_off_closes_it(self, four_lines):
        books.open_books(four_lines)
        invoice = books.issue(four_lines, "2026-11", LATER)

        with house.an_act(), four_lines.scope():
            payments.write_off(actor=four_lines.system, invoice_id=invoice.pk, reason="Insolvent.", now=LATER)

        assert standing(four_lines, invoice).state == InvoiceState.WRITTEN_OFF
        assert balances(four_lines)["write_off"] == Decimal("334.99")


class TestLedger:
    def test_the_database_refuses_what_does_not_sum_to_zero(self, tenant):
        amounts = {AccountKind.BANK: Decimal("1.00"), AccountKind.WALLET: Decimal("-0.99")}

        with tenant.scope(), connection.cursor() as cursor:
            ledger.post(organization_id=tenant.organization.pk, key="odd", currency="EUR", amounts=amounts, at=LATER)
            with pytest.raises(Error, match="sum to zero"), transaction.atomic():
                cursor.execute("SET CONSTRAINTS sums_to_zero IMMEDIATE")
            transaction.set_rollback(True)

    def test_balances_are_what_the_entries_say_and_drift_is_found(self, four_lines):
        books.open_books(four_lines)
        pay(four_lines, books.issue(four_lines, "2026-11", LATER), "100.00")

        with four_lines.scope():
            sound = ledger.drifts()
            LedgerAccount.objects.filter(kind="bank").update(balance=1)
            found = ledger.drifts()

        assert sound == []
        assert [(drift.account, drift.stands, drift.should) for drift in found] == [
            ("bank EUR", Decimal(1), Decimal(100))
        ]
