"""The pages of invoices: what finance reads, and the way from a line to its sessions and workload and back."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from billing.enums import InvoiceState
from billing.selectors.drilling import line_of
from billing.services import payments
from tests import house
from tests.billing import books
from tests.billing.shop import H100, LONG_AGO, at, hold, sell

pytestmark = pytest.mark.django_db
LATER = datetime(2026, 12, 5, tzinfo=UTC)


@pytest.fixture
def aurora(db):
    """Two people's sessions on one line: over the month's beginning, and within it."""
    tenant = house.aurora()
    sell(H100, ("3.10", LONG_AGO))
    hold(tenant, project="vision", user="alice", since=at(31, 22, month=10), until=at(1, 2))
    hold(tenant, project="vision", user="bob", since=at(3), until=at(3, 1))
    hold(tenant, project="language", user="alice", since=at(3), until=at(3, 1))
    books.open_books(tenant)
    return tenant


def page(tenant, who, path):
    response = house.client_for(tenant, who).get(path)
    return response.status_code, response.content.decode()


class TestOverview:
    def test_says_what_is_open_and_what_lacks(self, aurora):
        invoice = books.issue(aurora, "2026-11", LATER)
        with house.an_act(), aurora.scope():
            payments.mark_paid(
                actor=aurora.system,
                invoice_id=invoice.pk,
                amount=Decimal("1.00"),
                reference="T-1",
                received_on=date(2026, 12, 5),
                now=LATER,
            )

        status, text = page(aurora, "billie", "/invoices")

        assert status == 200
        assert "AURORA-000001" in text
        assert InvoiceState.PARTIALLY_PAID.label.lower() in text
        assert f"${invoice.total - 1:,.2f}" in text

    def test_is_not_for_developers(self, aurora):
        assert page(aurora, "alice", "/invoices")[0] == 403


class TestDrillDown:
    def test_a_line_leads_to_its_sessions_and_their_workloads_and_back(self, aurora):
        invoice = books.issue(aurora, "2026-11", LATER)

        _, text = page(aurora, "olivia", f"/invoices/{invoice.pk}")
        status, line = page(aurora, "olivia", f"/invoices/{invoice.pk}/lines/2")

        assert f"/invoices/{invoice.pk}/lines/2" in text
        assert status == 200
        assert line.count('href="/workspaces/') == 2
        assert line.count('href="/audit?object=') == 2
        assert f'href="/invoices/{invoice.pk}"' in line

    def test_the_parts_sum_to_the_line_exactly(self, aurora):
        invoice = books.issue(aurora, "2026-11", LATER)

        with aurora.scope():
            line = line_of(aurora.actor("billie"), invoice.pk, 2)

        assert [part.quantity for part in line.parts] == [Fraction(3), Fraction(1)]
        assert sum(part.exact for part in line.parts) == line.exact == Fraction("12.4")

    def test_strangers_find_nothing(self, aurora):
        invoice = books.issue(aurora, "2026-11", LATER)
        borealis = house.borealis()

        for path in (
            f"/invoices/{invoice.pk}",
            f"/invoices/{invoice.pk}/lines/1",
            f"/api/v1/invoices/{invoice.pk}.pdf",
        ):
            assert page(borealis, "boris", path)[0] == 404

    def test_finance_downloads_the_same_file_twice(self, aurora):
        invoice = books.issue(aurora, "2026-11", LATER)
        client = house.client_for(aurora, "billie")

        first, again = (client.get(f"/api/v1/invoices/{invoice.pk}.pdf") for _ in range(2))

        assert first.headers["Content-Type"] == "application/pdf"
        assert first.content == again.content
        assert first.content.startswith(b"%PDF")
