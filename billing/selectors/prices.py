"""What things cost at an instant."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from fractions import Fraction

from django.db.models import Q

from billing.errors import NotPriced
from billing.models import Price, Sku
from billing.rating import amount, hour_of
from billing.types import Hourly, Item, Rate


def price_of(sku_code: str, at: datetime, currency: str) -> Rate:
    """The rate of a SKU in force at an instant. Raises NotPriced where there is none."""
    found = prices_at([sku_code], at, currency).get(sku_code)
    if found is None:
        raise NotPriced(sku_code, currency)
    return found


def prices_at(sku_codes: Collection[str], at: datetime, currency: str) -> dict[str, Rate]:
    """The rates in force at an instant, by SKU code; those without a price are left out. One query."""
    rows = Price.objects.filter(
        Q(valid_to__isnull=True) | Q(valid_to__gt=at), valid_from__lte=at, currency=currency, sku__code__in=sku_codes
    ).select_related("sku")
    return {
        row.sku.code: Rate(sku_code=row.sku.code, unit_price=row.unit_price, currency=row.currency, unit=row.sku.unit)
        for row in rows
    }


def known_sku_codes() -> set[str]:
    """Everything that is sold, priced or not. For the platform's own parts."""
    return set(Sku.objects.values_list("code", flat=True))


def hourly(items: Sequence[Item], at: datetime, currency: str) -> Hourly:
    """What holding all of these costs per hour, exactly. Raises NotPriced. One query."""
    rates = prices_at({item.sku_code for item in items}, at, currency)
    exact = Fraction(0)
    for item in items:
        rate = rates.get(item.sku_code)
        if rate is None:
            raise NotPriced(item.sku_code, currency)
        exact += amount(hour_of(item.quantity_micro), rate.unit, rate.unit_price)
    return Hourly(exact, currency)
