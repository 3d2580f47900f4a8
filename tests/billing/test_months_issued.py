"""Every worked month through the whole path: facts and credit in, the run, the frozen invoice out."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from billing.enums import GrantKind
from billing.models import InvoiceDocument
from billing.services import checking, grants, runs
from tests import house
from tests.billing import books
from tests.billing.shop import LONG_AGO, hold
from tests.billing.test_months import MONTHS, instant, sell_all

pytestmark = pytest.mark.django_db
BEFORE = LONG_AGO + timedelta(days=1)


def give(tenant, kind, case_grant):
    with house.an_act(), tenant.scope():
        grants.grant(
            actor=tenant.system,
            organization_id=tenant.organization.pk,
            kind=kind,
            key=case_grant["id"],
            label=case_grant["id"],
            amount=Decimal(case_grant["amount"]),
            expires_at=instant(case_grant["expires"]),
            now=BEFORE,
        )


@pytest.mark.parametrize("path", MONTHS, ids=lambda path: path.stem)
def test_the_issued_invoice_says_exactly_what_is_right(db, path):
    case = json.loads(path.read_text())
    expected, currency = case["expected"], case["organization"]["currency"]
    projects = tuple(sorted({session["project"] for session in case["sessions"]}))
    tenant = house.found("worked", projects=projects, currency=currency, time_zone=case["organization"]["time_zone"])
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
    books.open_books(rate=case.get("tax_rate", "0"))
    books.describe(tenant, now=BEFORE)
    for promotion in case.get("promotions", []):
        give(tenant, GrantKind.PROMOTIONAL, promotion)
    for bought in case.get("prepaid", []):
        give(tenant, GrantKind.PREPAID, bought)

    runs.run(now=instant(expected["period_end"]) + timedelta(days=4))

    with tenant.scope():
        says = json.loads(InvoiceDocument.objects.get(period__name=case["period"]).body)
        assert checking.faults_found() == []
    assert [line["amount"] for line in says["lines"]] == [line["amount"] for line in expected["lines"]]
    assert says["subtotal"] == expected["subtotal"]
    sums = {
        "promotions_used": sum(Decimal(use["amount"]) for use in says["promotions"]),
        "tax": Decimal(says["tax"]["amount"]),
        "total": Decimal(says["total"]),
        "prepaid_used": sum(Decimal(use["amount"]) for use in says["prepaid"]),
        "due": Decimal(says["due"]),
    }
    told = [name for name in sums if name in expected]
    assert {name: sums[name] for name in told} == {name: Decimal(expected[name]) for name in told}
