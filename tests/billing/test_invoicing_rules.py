"""The rules of documents as tables and properties, no database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as some

from billing.enums import InvoiceState, TaxCategory
from billing.invoicing.canonical import spelled
from billing.invoicing.notes import note_amounts
from billing.invoicing.parties import missing
from billing.invoicing.standing import Balance, state_of
from billing.invoicing.taxes import tax_for, tax_on
from billing.invoicing.totals import shares, totals
from billing.invoicing.values import Address, Grant, Party, Tax

NOW = datetime(2026, 12, 5, tzinfo=UTC)
RATES = {"DE": Decimal("0.19"), "FR": Decimal("0.20")}
CENTS = some.integers(1, 10_000_00).map(lambda units: Decimal(units).scaleb(-2))
RATE = some.sampled_from([Decimal("0.19"), Decimal("0.20"), Decimal("0.055"), Decimal(0)])


@pytest.mark.parametrize(
    ("seller", "buyer", "status", "tax_id", "expected"),
    [
        ("DE", "DE", "business", "DE1", Tax(TaxCategory.STANDARD, Decimal("0.19"))),
        ("DE", "DE", "consumer", "", Tax(TaxCategory.STANDARD, Decimal("0.19"))),
        ("DE", "FR", "business", "FR1", Tax(TaxCategory.REVERSE_CHARGE, Decimal(0), "reverse_charge")),
        ("DE", "FR", "business", "", Tax(TaxCategory.STANDARD, Decimal("0.20"))),
        ("DE", "FR", "consumer", "", Tax(TaxCategory.STANDARD, Decimal("0.20"))),
        ("DE", "IT", "consumer", "", None),
        ("DE", "US", "business", "", Tax(TaxCategory.OUTSIDE, Decimal(0), "outside")),
        ("DE", "DE", "exempt", "DE1", Tax(TaxCategory.EXEMPT, Decimal(0), "exempt")),
        ("US", "US", "business", "", None),
    ],
)
def test_tax_follows_place_and_kind(seller, buyer, status, tax_id, expected):
    found = tax_for(seller_country=seller, buyer_country=buyer, status=status, buyer_tax_id=tax_id, rates=RATES)

    assert found == expected


@pytest.mark.parametrize(
    ("settled", "credited", "written_off", "voided", "due_in_days", "expected"),
    [
        ("0", "0", "0", False, 1, InvoiceState.ISSUED),
        ("1", "0", "0", False, 1, InvoiceState.PARTIALLY_PAID),
        ("100", "0", "0", False, 1, InvoiceState.PAID),
        ("100", "0", "0", False, -1, InvoiceState.PAID),
        ("99.99", "0", "0", False, 0, InvoiceState.OVERDUE),
        ("0", "0", "0", False, -1, InvoiceState.OVERDUE),
        ("40", "60", "0", False, -1, InvoiceState.PAID),
        ("0", "100", "0", False, -1, InvoiceState.CREDITED),
        ("40", "0", "60", False, -1, InvoiceState.WRITTEN_OFF),
        ("0", "100", "0", True, -1, InvoiceState.VOID),
    ],
)
def test_the_state_is_read_off_the_amounts(settled, credited, written_off, voided, due_in_days, expected):
    balance = Balance(
        total=Decimal(100),
        settled=Decimal(settled),
        credited=Decimal(credited),
        written_off=Decimal(written_off),
        voided=voided,
        due_at=NOW + timedelta(days=due_in_days),
    )

    assert state_of(balance, NOW) == expected


@pytest.mark.parametrize("field", ["legal_name", "street", "postcode", "city", "country", "tax_id"])
def test_each_mandatory_field_has_a_reason_of_its_own(field):
    whole = Party("Name", Address("Street 1", "1", "City", "DE"), "DE1")
    places = {"street", "postcode", "city", "country"}
    elsewhere = replace(whole.address, **({field: ""} if field in places else {}))
    lacking = replace(whole, address=elsewhere, **({} if field in places else {field: " "}))

    assert [reason.code for reason in missing(lacking, whole, buyer_needs_tax_id=True)] == [f"seller_{field}_missing"]
    assert [reason.code for reason in missing(whole, lacking, buyer_needs_tax_id=True)] == [
        f"billing_profile_{field}_missing"
    ]
    assert missing(whole, whole, buyer_needs_tax_id=True) == ()


@given(some.lists(CENTS, min_size=1, max_size=12), RATE)
def test_full_notes_in_any_order_sum_to_the_invoice(lines, rate):
    net = sum(lines)
    credited, given_back = Decimal(0), Decimal(0)
    for line in sorted(lines, key=hash):
        note = note_amounts(line, credited=credited, rate=rate, currency="EUR")
        credited, given_back = credited + line, given_back + note.total

    assert given_back == net + tax_on(net, rate, "EUR")


@given(CENTS, some.lists(CENTS, max_size=5), some.lists(CENTS, max_size=5), RATE)
def test_credit_is_used_up_to_what_is_there_and_no_further(subtotal, promotions, prepaid, rate):
    def granted(amounts):
        return [Grant(UUID(int=n), str(n), amount, None, NOW) for n, amount in enumerate(amounts)]

    found = totals(
        subtotal,
        rate=rate,
        currency="EUR",
        promotions=granted(promotions),
        prepaid=granted(prepaid),
        period_end=NOW,
        now=NOW,
    )

    assert sum(use.amount for use in found.promotions) == min(subtotal, sum(promotions))
    assert found.net + found.tax == found.total
    assert sum(use.amount for use in found.prepaid) == min(found.total, sum(prepaid))
    assert found.due == found.total - sum(use.amount for use in found.prepaid) >= 0


@given(CENTS, some.lists(CENTS, min_size=1, max_size=12))
def test_shares_of_a_discount_sum_to_it(discount, lines):
    assert sum(shares(discount, lines, "EUR")) == discount


def test_the_spelling_has_no_room_for_a_float():
    assert spelled({"b": "ü", "a": 1}) == '{"a":1,"b":"ü"}'
    with pytest.raises(ValueError):
        spelled({"a": float("nan")})  # type: ignore[dict-item]
