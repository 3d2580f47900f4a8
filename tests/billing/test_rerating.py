"""A closed month rated again a year later, after everything around it has changed, gives the same bytes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone, translation

from billing.enums import GrantKind
from billing.models import InvoiceDocument
from billing.services import grants, prices, rerating
from core import scope
from tests import house
from tests.billing import books
from tests.billing.shop import H100, LONG_AGO, at, hold, sell

pytestmark = pytest.mark.django_db
LATER = datetime(2026, 12, 5, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles", "Pacific/Apia"])
def test_a_closed_month_comes_out_the_same_under_another_zone_and_language(db, zone):
    tenant = house.found("aurora", projects=("vision", "language"), currency="EUR")
    sell(H100, ("1.005", LONG_AGO), ("3.333", at(20)), currency="EUR")
    books.open_books(tenant)
    for number, project in enumerate(("vision", "language", "vision")):
        hold(tenant, project=project, since=at(1 + number, 7), until=at(25, number, 13))
    hold(tenant, project="vision", since=at(28))
    with house.an_act(), tenant.scope():
        grants.grant(
            actor=tenant.system,
            organization_id=tenant.organization.pk,
            kind=GrantKind.PROMOTIONAL,
            key="welcome",
            label="Willkommen",
            amount=Decimal("77.77"),
            expires_at=None,
            now=at(1),
        )
    issued = books.issue(tenant, "2026-11", LATER)

    hold(tenant, project="language", since=at(10), until=at(11))  # late: it joins December
    with house.an_act(), scope.of_platform():
        prices.publish_price(
            actor=house.SYSTEM,
            sku_code=H100,
            currency="EUR",
            unit_price=Decimal(9),
            valid_from=LATER + timedelta(days=1),
            now=LATER,
        )
    books.describe(tenant, legal_name="Nova AG", now=LATER)
    with timezone.override(zone), translation.override("de"), tenant.scope():
        tenant.organization.time_zone = zone
        tenant.organization.save(update_fields=["time_zone"])
        again = rerating.again(InvoiceDocument.objects.get(pk=issued.pk), now=LATER + timedelta(days=365))

    assert again == issued.body
