"""Money acts that come at the same instant, each on a connection of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from threading import Barrier

import pytest
from django.db import connections

from billing.enums import InvoiceState
from billing.models import InvoiceDocument, InvoiceSeries, InvoiceStanding, LedgerAccount, LedgerTransaction
from billing.services import documents, invoices, payments, runs
from core.errors import SteelyardError
from tests import house
from tests.billing import books
from tests.billing.shop import H100, LONG_AGO, at, hold, sell

pytestmark = pytest.mark.django_db(transaction=True)
LATER = datetime(2026, 12, 5, tzinfo=UTC)
DUE = datetime(2026, 12, 20, tzinfo=UTC)


@pytest.fixture
def tenant(transactional_db):
    made = house.found("aurora", projects=("vision",), currency="EUR")
    sell(H100, ("100", LONG_AGO), currency="EUR")
    hold(made, project="vision", since=at(3), until=at(3, 1))
    books.open_books(made)
    return made


def at_once(*acts):
    """Run them together; gives what each returned, or the rule's error."""
    together = Barrier(len(acts))

    def one(act):
        try:
            together.wait(60)
            return act()
        except SteelyardError as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(one, acts))


def pay(tenant, invoice, reference="T-1"):
    with house.an_act(), tenant.scope():
        payments.mark_paid(
            actor=tenant.system,
            invoice_id=invoice.pk,
            amount=Decimal("120.00"),
            reference=reference,
            received_on=date(2026, 12, 18),
            now=DUE,
        )


def test_c101_six_runs_at_once_issue_one_invoice(tenant):
    outcomes = at_once(*[lambda: runs.run(now=LATER)] * 6)

    with tenant.scope():
        invoice = InvoiceDocument.objects.get()
        assert InvoiceSeries.objects.get().last_sequence == 1
        assert LedgerTransaction.objects.count() == 1
    assert {number for outcome in outcomes for number in outcome.issued} == {invoice.number}
    assert [outcome.held for outcome in outcomes] == [[]] * 6


@pytest.mark.parametrize("step", ["freeze", "stand"])
def test_a_run_that_dies_midway_leaves_nothing_and_the_next_one_issues(tenant, monkeypatch, step):
    class Killed(BaseException):
        pass

    def die(*_args, **_words):
        raise Killed

    with monkeypatch.context() as broken:
        broken.setattr(documents, step, die)
        with pytest.raises(Killed):
            runs.run(now=LATER)
    with tenant.scope():
        left = InvoiceDocument.objects.count(), InvoiceSeries.objects.filter(last_sequence__gt=0).count()

    assert left == (0, 0)
    assert runs.run(now=LATER).issued == ["AURORA-000001"]


@pytest.mark.parametrize("_again", range(5))
def test_c111_paying_while_the_sweep_runs_never_ends_overdue_and_paid(tenant, _again):
    invoice = books.issue(tenant, "2026-11", LATER)

    at_once(
        lambda: pay(tenant, invoice), lambda: payments.sweep_overdue(now=DUE), lambda: payments.sweep_overdue(now=DUE)
    )

    with tenant.scope():
        standing = InvoiceStanding.objects.get()
        assert standing.state == InvoiceState.PAID
        assert standing.open == 0
    payments.sweep_overdue(now=DUE + timedelta(days=1))
    with tenant.scope():
        assert InvoiceStanding.objects.get().state == InvoiceState.PAID


def test_two_transfers_of_the_whole_at_once_are_one_payment(tenant):
    invoice = books.issue(tenant, "2026-11", LATER)

    found = at_once(lambda: pay(tenant, invoice, "A"), lambda: pay(tenant, invoice, "B"))

    assert sorted(type(each).__name__ for each in found) == ["NoneType", "Refused"]
    with tenant.scope():
        assert LedgerAccount.objects.get(kind="bank").balance == Decimal(120)


def test_two_months_at_once_draw_on_one_grant_once(tenant):
    hold(tenant, project="vision", since=at(3, month=10), until=at(3, 1, month=10))

    def issue(month):
        with house.an_act(), tenant.scope():
            made = invoices.issue(actor=tenant.system, organization_id=tenant.organization.pk, month=month, now=LATER)
            return made.number if made else ""

    numbers = at_once(lambda: issue("2026-10"), lambda: issue("2026-11"))

    assert sorted(numbers) == ["AURORA-000001", "AURORA-000002"]
