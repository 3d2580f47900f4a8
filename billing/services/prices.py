"""Prices are published, announced and never changed. Runs in the platform's scope."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Max

from billing.errors import PriceInThePast
from billing.models import Price, PriceBook, Sku
from billing.permissions import authorize_catalogue
from core import audit
from core.errors import FieldError, Invalid, NotFound
from core.locks import lock
from core.types import Actor, ObjectRef

_LARGEST = Decimal(10) ** 10
_FINEST = Decimal(10) ** -10


@transaction.atomic
def publish(
    *, actor: Actor, currency: str, unit_prices: Mapping[str, Decimal], valid_from: datetime, now: datetime
) -> PriceBook:
    """A new version of a currency's price book: unit prices by SKU code, in force from `valid_from` on.

    A SKU's first price may begin at any time; one that replaces another begins in the future. SKUs that are left out
    keep theirs.
    """
    authorize_catalogue(actor, ObjectRef("price_book", currency, currency))
    _refuse_nonsense(unit_prices)
    lock("billing.prices", currency)
    skus = _skus(unit_prices)
    _end_those_replaced(skus, currency=currency, valid_from=valid_from, now=now)
    book = PriceBook.objects.create(currency=currency, version=_next_version(currency), valid_from=valid_from)
    Price.objects.bulk_create(
        Price(book=book, sku=skus[code], currency=currency, unit_price=price, valid_from=valid_from)
        for code, price in sorted(unit_prices.items())
    )
    after = {code: str(price) for code, price in sorted(unit_prices.items())}
    audit.record(
        actor, "price_book.published", book.ref, now=now, after={"valid_from": valid_from.isoformat(), **after}
    )
    return book


def publish_price(
    *, actor: Actor, sku_code: str, currency: str, unit_price: Decimal, valid_from: datetime, now: datetime
) -> PriceBook:
    """A version that changes one price."""
    return publish(actor=actor, currency=currency, unit_prices={sku_code: unit_price}, valid_from=valid_from, now=now)


def _refuse_nonsense(unit_prices: Mapping[str, Decimal]) -> None:
    errors = [
        FieldError(
            code, "out_of_range", f"The price of {code} is not from 0 to 10,000,000,000 with ten digits at most."
        )
        for code, price in sorted(unit_prices.items())
        if not 0 <= price < _LARGEST or price != price.quantize(_FINEST)
    ]
    if errors:
        raise Invalid(errors)


def _skus(unit_prices: Mapping[str, Decimal]) -> dict[str, Sku]:
    found = {sku.code: sku for sku in Sku.objects.filter(code__in=list(unit_prices))}
    for code in sorted(unit_prices):
        if code not in found:
            raise NotFound("sku", code)
    return found


def _end_those_replaced(skus: Mapping[str, Sku], *, currency: str, valid_from: datetime, now: datetime) -> None:
    replaced = Price.objects.filter(sku__in=list(skus.values()), currency=currency, valid_to__isnull=True)
    for price in replaced.select_related("sku"):
        if valid_from <= max(now, price.valid_from):
            raise PriceInThePast(price.sku.code)
    replaced.update(valid_to=valid_from)


def _next_version(currency: str) -> int:
    newest: int | None = PriceBook.objects.filter(currency=currency).aggregate(newest=Max("version"))["newest"]
    return (newest or 0) + 1
