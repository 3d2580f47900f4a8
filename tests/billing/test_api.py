"""The API of billing: what each role sees, in which shape, in how many queries."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.ids import uuid7
from tests.billing.shop import DEVICE, DISK, H100, LONG_AGO, at, hold, sell
from tests.house import api_for

pytestmark = pytest.mark.django_db
V1 = "/api/v1"


@pytest.fixture
def busy(aurora):
    sell(H100, ("3.60", LONG_AGO))
    sell(DISK, ("0.0001", LONG_AGO), unit="gib_hour")
    hold(aurora, project="vision", user="alice", quantity=2 * DEVICE, since=at(3, 10), until=at(3, 11, 30))
    hold(aurora, project="language", user="alice", since=at(4), until=at(4, 0, 1))
    return aurora


def get(client, path, status=200, **query):
    response = client.get(f"{V1}{path}", query)
    assert response.status_code == status, response.content
    return response.json()


class TestUsageSessions:
    def test_a_session_says_who_held_what_and_what_it_costs(self, busy):
        row = get(api_for(busy, "bob"), "/usage-sessions")["results"][0]

        assert (row["project"]["label"], row["user"]["label"], row["sku"]) == ("vision", "Alice", H100)
        assert (row["quantity"], row["duration_seconds"]) == ("2.000000", "5400.000000")
        assert (row["from"], row["to"]) == ("2026-11-03T10:00:00Z", "2026-11-03T11:30:00Z")
        assert row["cost"] == {"amount": "10.80", "currency": "USD"}

    def test_each_sees_their_own_projects(self, busy, borealis):
        assert len(get(api_for(busy, "alice"), "/usage-sessions")["results"]) == 2
        assert len(get(api_for(busy, "bob"), "/usage-sessions")["results"]) == 1
        assert get(api_for(borealis, "boris"), "/usage-sessions")["results"] == []

    def test_a_strangers_session_does_not_exist(self, busy, borealis):
        found = get(api_for(busy, "alice"), "/usage-sessions")["results"][0]["id"]

        assert get(api_for(busy, "alice"), f"/usage-sessions/{found}")["id"] == found
        get(api_for(borealis, "boris"), f"/usage-sessions/{found}", status=404)

    def test_filters_narrow(self, busy):
        alice = api_for(busy, "alice")

        def labels(**query):
            return [row["project"]["label"] for row in get(alice, "/usage-sessions", **query)["results"]]

        assert labels(project="aurora/vision") == ["vision"]
        assert labels(**{"from": "2026-11-03T11:30:00Z"}) == ["language"]
        assert labels(to="2026-11-04T00:00:00Z") == ["vision"]
        assert labels(workload=str(uuid7())) == []
        get(alice, "/usage-sessions", status=400, colour="red")
        get(alice, "/usage-sessions", status=404, project="borealis/drugs")
        get(alice, "/usage-sessions", status=400, **{"from": "yesterday"})

    def test_a_page_costs_the_same_however_full_it_is(self, busy):
        olivia = api_for(busy, "olivia")

        def counted():
            with CaptureQueriesContext(connection) as captured:
                get(olivia, "/usage-sessions")
            return len(captured)

        counted()  # the first call of a minute notes when the token was used
        few = counted()
        for _ in range(8):
            hold(busy, project="vision", user="bob", since=at(5), until=at(6))

        assert counted() == few


class TestCosts:
    SPAN = {"from": "2026-11-01T00:00:00Z", "to": "2026-11-29T00:00:00Z"}

    @pytest.mark.parametrize(
        ("group_by", "labels"),
        [
            ("organization", ["aurora"]),
            ("project", ["vision", "language"]),
            ("user", ["Alice"]),
            ("workload", None),
        ],
    )
    def test_rows_sum_to_the_total(self, busy, group_by, labels):
        found = get(api_for(busy, "olivia"), "/costs", group_by=group_by, **self.SPAN)

        assert found["total"] == {"amount": "10.86", "currency": "USD"}
        assert sum(Decimal(row["cost"]["amount"]) for row in found["results"]) == Decimal("10.86")
        assert labels is None or [row["label"] for row in found["results"]] == labels

    def test_hours_are_those_held(self, busy):
        vision = get(api_for(busy, "olivia"), "/costs", **self.SPAN)["results"][0]

        assert (vision["running_hours"], vision["accelerator_hours"]) == ("1.500000", "3.000000")

    def test_without_a_span_it_is_the_month_so_far(self, busy):
        found = get(api_for(busy, "olivia"), "/costs")

        assert found["from"] <= timezone.now().isoformat()
        assert found["group_by"] == "project"

    def test_what_cannot_be_meant_is_refused(self, busy):
        olivia = api_for(busy, "olivia")

        get(olivia, "/costs", status=400, group_by="colour")
        get(olivia, "/costs", status=400, **{"from": "2026-11-02T00:00:00Z", "to": "2026-11-01T00:00:00Z"})


class TestInvoices:
    def test_the_lines_sum_to_the_subtotal(self, busy):
        billie = api_for(busy, "billie")

        invoice = get(billie, "/invoices/2026-11")
        lines = get(billie, "/invoices/2026-11/lines")["results"]

        assert invoice["subtotal"] == {"amount": "10.86", "currency": "USD"}
        assert sum(Decimal(line["amount"]["amount"]) for line in lines) == Decimal("10.86")
        assert [(line["position"], line["project"]["label"], line["unit_price"]["amount"]) for line in lines] == [
            (1, "language", "3.6"),
            (2, "vision", "3.6"),
        ]

    def test_the_months_are_listed(self, busy):
        months = [row["id"] for row in get(api_for(busy, "billie"), "/invoices")["results"]]

        assert months[-1] == "2026-11"

    def test_it_is_to_be_had_as_csv(self, busy):
        response = api_for(busy, "billie").get(f"{V1}/invoices/2026-11.csv")

        assert response.status_code == 200
        assert response["Content-Type"].startswith("text/csv")
        assert response.content.decode().splitlines()[-1].endswith("10.86,USD")

    @pytest.mark.parametrize("path", ["/invoices", "/invoices/2026-11", "/invoices/2026-11/lines"])
    def test_it_is_not_for_a_developer(self, busy, path):
        problem = get(api_for(busy, "alice"), path, status=403)

        assert problem["permission"] == "view_invoice"

    @pytest.mark.parametrize("month", ["2026-13", "november", "2026-1", "9999-12"])
    def test_what_is_no_month_does_not_exist(self, busy, month):
        get(api_for(busy, "billie"), f"/invoices/{month}", status=404)


class TestCatalogue:
    def test_skus_tell_their_price_now(self, busy):
        found = {row["code"]: row for row in get(api_for(busy, "alice"), "/skus")["results"]}

        assert found[H100]["unit_price"] == {"amount": "3.6", "currency": "USD"}
        assert get(api_for(busy, "alice"), f"/skus/{found[DISK]['id']}")["code"] == DISK
        get(api_for(busy, "alice"), f"/skus/{uuid7()}", status=404)

    def test_price_books_tell_what_they_brought(self, busy):
        alice = api_for(busy, "alice")
        book = get(alice, "/price-books", currency="USD")["results"][-1]

        assert book["prices"][0]["unit_price"] == {"amount": "3.6", "currency": "USD"}
        assert get(alice, f"/price-books/{book['id']}") == book
        assert get(alice, "/price-books", currency="EUR")["results"] == []
