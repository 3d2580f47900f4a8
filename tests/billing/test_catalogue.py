"""Prices are published by the platform, announced, and never changed."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import DatabaseError
from django.utils import timezone

from billing.errors import PriceInThePast
from billing.models import Price, PriceBook, Sku
from billing.selectors import price_of
from billing.services import catalogue, prices
from core import scope
from core.errors import Conflict, Forbidden, Invalid, NotFound
from core.models import AuditEvent
from core.types import PLATFORM_ORGANIZATION_ID
from tests.billing.shop import H100, LONG_AGO, at, sell
from tests.house import SYSTEM, an_act

pytestmark = pytest.mark.django_db


def publish(unit_prices, valid_from, *, now=None, actor=SYSTEM):
    with an_act(), scope.of_platform():
        return prices.publish(
            actor=actor,
            currency="USD",
            unit_prices={code: Decimal(price) for code, price in unit_prices.items()},
            valid_from=valid_from,
            now=now or timezone.now(),
        )


class TestPublish:
    def test_a_new_version_ends_the_price_that_it_replaces(self, db):
        sell(H100, ("3.60", LONG_AGO))

        book = publish({H100: "3.10"}, at(20), now=at(19))

        assert book.version == 2
        with scope.of_platform():
            first, second = Price.objects.order_by("valid_from")
            assert (first.valid_to, second.valid_from, second.valid_to) == (at(20), at(20), None)
            assert price_of(H100, at(20) - timedelta(microseconds=1), "USD").unit_price == Decimal("3.60")

    def test_a_price_that_replaces_another_lies_in_the_future(self, db):
        sell(H100, ("3.60", LONG_AGO))

        with pytest.raises(PriceInThePast):
            publish({H100: "3.10"}, at(18), now=at(19))

    def test_each_publication_is_one_event_of_the_platforms_chain(self, db):
        sell(H100, ("3.60", LONG_AGO))

        with scope.of_platform():
            events = AuditEvent.objects.filter(organization_id=PLATFORM_ORGANIZATION_ID).order_by("id")
            assert [event.verb for event in events] == ["sku.defined", "price_book.published"]

    @pytest.mark.parametrize("price", ["-0.01", "10000000000", "0.00000000001"])
    def test_nonsense_is_refused(self, db, price):
        sell(H100)

        with pytest.raises(Invalid):
            publish({H100: price}, LONG_AGO)

    def test_an_unknown_sku_and_a_known_one_again_are_refused(self, db):
        sell(H100)

        with pytest.raises(NotFound):
            publish({"gpu-hour/unknown": "1"}, LONG_AGO)
        with pytest.raises(Conflict):
            sell(H100)

    def test_an_owner_is_not_the_platform(self, aurora):
        with an_act(), scope.of_platform(), pytest.raises(Forbidden):
            catalogue.define_sku(
                actor=aurora.actor("olivia"), code="x", kind="session", unit="hour", label="X", now=at(1)
            )


class TestTheDatabase:
    def test_lets_no_organisation_write_the_catalogue(self, aurora):
        with pytest.raises(DatabaseError, match="permission denied"), aurora.scope():
            Sku.objects.create(code="x", kind="session", unit="hour", label="X")

    def test_lets_nobody_change_a_price(self, db):
        sell(H100, ("3.60", LONG_AGO))

        with pytest.raises(DatabaseError, match="do not change"), scope.of_platform():
            Price.objects.update(unit_price=Decimal(1))

    def test_lets_nobody_change_a_published_version(self, db):
        sell(H100, ("3.60", LONG_AGO))

        with pytest.raises(DatabaseError, match="permission denied"), scope.of_platform():
            PriceBook.objects.update(version=7)
