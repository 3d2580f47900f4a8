"""Costs and drafts: who sees what, sums that agree, a constant number of queries."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from billing.enums import CostGroup
from billing.invoice_csv import draft_invoice_csv
from billing.models import BillingPeriod
from billing.selectors import (
    cost_so_far,
    costs,
    draft_invoice,
    hourly,
    invoice_months,
    month_to_date,
    price_of,
    session_costs,
    usage_sessions_visible_to,
)
from billing.types import Item
from core.errors import Forbidden, NotFound
from core.ids import uuid7
from tests.billing.shop import DEVICE, DISK, H100, LONG_AGO, at, hold, sell

pytestmark = pytest.mark.django_db


@pytest.fixture
def busy(aurora):
    """Alice and Bob hold GPUs and disks in vision, Alice in language too; one price changes on the 15th."""
    sell(H100, ("3.60", LONG_AGO), ("1.80", at(15)))
    sell(DISK, ("0.0001", LONG_AGO), unit="gib_hour")
    hold(aurora, project="vision", user="alice", since=at(3, 10), until=at(3, 11, 7))
    hold(aurora, project="vision", user="bob", quantity=2 * DEVICE, since=at(14, 12), until=at(15, 12))
    hold(aurora, project="language", user="alice", since=at(20), until=at(20, 0, 1))
    hold(aurora, project="vision", user="bob", sku=DISK, component="disk", quantity=100 * DEVICE, since=at(1))
    return aurora


def queries(call):
    with CaptureQueriesContext(
        connection,
    ) as captured:
        call()
    return len(captured)


class TestWhoSees:
    def test_a_developer_sees_the_usage_of_their_projects(self, busy):
        with busy.scope():
            assert {row.project.slug for row in usage_sessions_visible_to(busy.actor("bob"))} == {"vision"}
            assert {row.project.slug for row in usage_sessions_visible_to(busy.actor("alice"))} == {
                "vision",
                "language",
            }

    def test_a_stranger_sees_none_of_it(self, busy, borealis):
        with borealis.scope():
            assert not usage_sessions_visible_to(borealis.actor("boris")).exists()
            assert month_to_date(borealis.actor("boris"), at(30)).total.amount == 0

    def test_a_draft_is_for_those_who_may_see_invoices(self, busy):
        with busy.scope():
            assert draft_invoice(busy.actor("billie"), "2026-11", at(30)).subtotal.amount > 0
            with pytest.raises(Forbidden):
                draft_invoice(busy.actor("alice"), "2026-11", at(30))

    def test_what_is_no_month_does_not_exist(self, busy):
        with busy.scope():
            for month in ("2026-13", "2026-1", "november", "9999-99"):
                with pytest.raises(NotFound):
                    draft_invoice(busy.actor("olivia"), month, at(30))


class TestSums:
    def test_the_month_by_project_by_user_and_as_a_draft_is_one_total(self, busy):
        with busy.scope():
            so_far = month_to_date(busy.actor("olivia"), at(28))
            draft = draft_invoice(busy.actor("olivia"), "2026-11", at(28))

        for table in (so_far.by_project, so_far.by_user):
            assert sum((row.amount.amount for row in table.rows), Decimal(0)) == draft.subtotal.amount
            assert table.total == draft.subtotal
        assert sum((entry.amount.amount for entry in draft.lines), Decimal(0)) == draft.subtotal.amount

    def test_a_price_change_splits_the_session_and_not_the_truth(self, busy):
        with busy.scope():
            [bob] = [row for row in usage_sessions_visible_to(busy.actor("bob")) if row.quantity_micro == 2 * DEVICE]
            cost = session_costs([bob.pk], at(30))[bob.pk]

        assert cost == 2 * 12 * Fraction("3.60") + 2 * 12 * Fraction("1.80")

    def test_rows_say_who_and_for_how_long(self, busy):
        with busy.scope():
            by_user = month_to_date(busy.actor("olivia"), at(28)).by_user

        hours = {row.label: (row.running_hours, row.accelerator_hours) for row in by_user.rows}
        assert hours == {"Alice": (Fraction(68, 60), Fraction(68, 60)), "Bob": (24, 48)}

    def test_costs_of_a_span_are_cut_at_its_ends(self, busy):
        with busy.scope():
            table = costs(busy.actor("olivia"), at(14, 18), at(14, 20), CostGroup.WORKLOAD, now=at(30))

        assert sorted(row.exact for row in table.rows) == [Fraction("0.02"), Fraction("14.4")]

    def test_every_group_sums_to_the_same_total(self, busy):
        with busy.scope():
            totals = {costs(busy.actor("olivia"), at(1), at(30), group, now=at(29)).total.amount for group in CostGroup}

        assert len(totals) == 1

    def test_a_late_fact_is_a_line_of_its_own_at_its_own_price_and_counts_once(self, busy):
        with busy.scope():
            BillingPeriod.objects.filter(name="2026-11").update(state="closed")
            before = draft_invoice(busy.actor("olivia"), "2026-11", at(20, month=12)).subtotal
        hold(busy, project="language", since=at(10), until=at(10, 1))

        with busy.scope():
            closed = draft_invoice(busy.actor("olivia"), "2026-11", at(20, month=12))
            current = draft_invoice(busy.actor("olivia"), "2026-12", at(20, month=12))

        assert closed.subtotal == before
        [late] = [entry for entry in current.lines if entry.line.late]
        assert (late.line.project, late.line.exact) == ("language", Fraction("3.60"))

    def test_csv_sums_to_its_last_row(self, busy):
        with busy.scope():
            draft = draft_invoice(busy.actor("billie"), "2026-11", at(28))

        rows = [line.split(",") for line in draft_invoice_csv(draft).splitlines()]
        assert rows[-1][3] == "subtotal"
        assert sum(Decimal(row[-2]) for row in rows[1:-1]) == Decimal(rows[-1][-2]) == draft.subtotal.amount


class TestPrices:
    def test_the_price_in_force_counts(self, busy):
        with busy.scope():
            assert price_of(H100, at(14), "USD").unit_price == Decimal("3.60")
            assert price_of(H100, at(15), "USD").unit_price == Decimal("1.80")

    def test_an_hour_of_everything_and_a_month_of_730_hours(self, busy):
        with busy.scope():
            price = hourly([Item(H100, 2 * DEVICE), Item(DISK, 100 * DEVICE)], at(14), "USD")

        assert price.exact == Fraction("7.21")
        assert str(price.per_month.amount) == "5263.30"


class TestQueries:
    def test_their_number_does_not_grow_with_the_usage(self, busy):
        actor = busy.actor("olivia")
        with busy.scope():
            ids = [row.workload_id for row in usage_sessions_visible_to(actor)]
            few = [
                queries(lambda: cost_so_far(ids, at(28))),
                queries(lambda: month_to_date(actor, at(28))),
                queries(lambda: draft_invoice(actor, "2026-11", at(28))),
                queries(lambda: costs(actor, at(1), at(28), CostGroup.USER, now=at(28))),
            ]
        for _ in range(12):
            hold(busy, project="language", user="olivia", since=at(5), until=at(6))
        with busy.scope():
            ids = [row.workload_id for row in usage_sessions_visible_to(actor)]
            many = [
                queries(lambda: cost_so_far(ids, at(28))),
                queries(lambda: month_to_date(actor, at(28))),
                queries(lambda: draft_invoice(actor, "2026-11", at(28))),
                queries(lambda: costs(actor, at(1), at(28), CostGroup.USER, now=at(28))),
            ]

        assert many == few
        assert few[0] == 1

    def test_a_workload_that_never_held_anything_costs_nothing(self, busy):
        unknown = uuid7()
        with busy.scope():
            cost = cost_so_far([unknown], at(28))[unknown]

        assert (cost.exact, cost.money.currency) == (Fraction(0), "USD")

    def test_a_month_that_only_goes_on_is_offered_too(self, busy):
        with busy.scope():
            months = [month.name for month in invoice_months(busy.actor("billie"), at(10, month=12))]

        assert months == ["2026-12", "2026-11"]
