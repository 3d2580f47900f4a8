"""Every worked month comes out to the last fraction: facts in by the services, draft invoice out."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from billing.rating import Held, PriceVersion, rate
from billing.selectors import draft_invoice
from tests import house
from tests.billing.shop import H100, LONG_AGO, at, hold, sell

pytestmark = pytest.mark.django_db

MONTHS = sorted(Path(__file__).with_name("months").glob("*.json"))


def instant(words: str) -> datetime:
    return datetime.fromisoformat(words)


def sell_all(price_book, currency):
    versions: dict[str, list[tuple[str, datetime]]] = {}
    for price in price_book:
        start = instant(price["valid_from"])
        versions.setdefault(price["sku"], []).append((price["tiers"][0]["unit_price"], start))
    for code, found in versions.items():
        sell(code, *found, currency=currency)


@pytest.mark.parametrize("path", MONTHS, ids=lambda path: path.stem)
class TestWorkedMonth:
    def test_the_draft_is_the_invoice_that_is_right(self, db, path):
        case = json.loads(path.read_text())
        currency = case["organization"]["currency"]
        tenant = house.found(
            "worked",
            projects=tuple(sorted({session["project"] for session in case["sessions"]})),
            currency=currency,
            time_zone=case["organization"]["time_zone"],
        )
        house.join(tenant, "billie", "billing")
        sell_all(case["price_book"], currency)
        for session in case["sessions"]:
            hold(
                tenant,
                project=session["project"],
                sku=session["sku"],
                quantity=int(Decimal(session["quantity"]) * 1_000_000),
                since=instant(session["from"]),
                until=instant(session["to"]),
            )
        expected = case["expected"]

        with tenant.scope():
            now = instant(expected["period_end"]) + timedelta(days=60)
            draft = draft_invoice(tenant.actor("billie"), case["period"], now)

        assert (draft.start, draft.end) == (instant(expected["period_start"]), instant(expected["period_end"]))
        assert draft.end - draft.start == timedelta(hours=int(expected["period_hours"]))
        assert [
            (entry.line.project, entry.line.sku_code, entry.line.price_from, entry.line.quantity, entry.line.exact)
            for entry in draft.lines
        ] == [
            (
                line["project"],
                line["sku"],
                instant(line["price_from"]),
                Fraction(line["quantity"]),
                Fraction(line["exact"]),
            )
            for line in expected["lines"]
        ]
        assert [str(entry.amount.amount) for entry in draft.lines] == [line["amount"] for line in expected["lines"]]
        assert str(draft.subtotal.amount) == expected["subtotal"]


class TestTheTwoRatings:
    def test_the_database_and_the_pure_rule_agree_to_the_last_fraction(self, aurora):
        random = Random(7)
        sell(H100, ("3.1000000001", LONG_AGO), ("2.75", at(14, 7, 31)))
        facts = [_fact(random) for _ in range(20)]
        for fact in facts:
            hold(aurora, project=fact.project, quantity=fact.quantity_micro, since=fact.start, until=fact.end)

        with aurora.scope():
            draft = draft_invoice(aurora.actor("olivia"), "2026-11", at(30, month=12))

        prices = [
            PriceVersion(H100, "hour", Decimal("3.1000000001"), LONG_AGO, at(14, 7, 31)),
            PriceVersion(H100, "hour", Decimal("2.75"), at(14, 7, 31), None),
        ]
        assert [
            (entry.line.project, entry.line.price_from, entry.line.quantity, entry.line.exact) for entry in draft.lines
        ] == [
            (rated.project, rated.price_from, rated.quantity, rated.exact)
            for rated in rate(facts, prices, start=draft.start, end=draft.end)
        ]


def _fact(random):
    start = at(20, month=10) + timedelta(microseconds=random.randrange(40 * 86_400 * 10**6))
    end = start + timedelta(microseconds=random.randrange(1, 30 * 86_400 * 10**6))
    return Held(random.choice(["language", "vision"]), H100, random.randrange(1, 16_000_000), start, end)
