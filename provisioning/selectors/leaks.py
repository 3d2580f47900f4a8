"""What leaks, and what that costs a day. In the platform's scope, after authorising."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from billing.selectors import prices_at
from core.money import Money, settle
from provisioning.models import Leak

_DAY_H = 24


@dataclass(frozen=True, slots=True)
class Leaking:
    """A leak and its price a day; None where it is not known what it holds, or that has no price."""

    leak: Leak
    per_day: Money | None


def open_leaks(currency: str, now: datetime, *, most: int) -> list[Leaking]:
    """The newest first. Two queries."""
    rows = Leak.objects.filter(ended_at=None).select_related("cluster").order_by("-pk")[:most]
    return _priced(rows, currency, now)


def ended_leaks(currency: str, now: datetime, *, most: int) -> list[Leaking]:
    rows = Leak.objects.exclude(ended_at=None).select_related("cluster").order_by("-ended_at", "-pk")[:most]
    return _priced(rows, currency, now)


def total(leaking: Iterable[Leaking], currency: str) -> Money:
    """Of those whose price is known."""
    return settle(sum((Fraction(one.per_day.amount) for one in leaking if one.per_day), Fraction(0)), currency)


def _priced(rows: Iterable[Leak], currency: str, now: datetime) -> list[Leaking]:
    found = list(rows)
    rates = prices_at({row.sku_code for row in found if row.sku_code}, now, currency)
    costs = {code: Fraction(rate.unit_price) * _DAY_H for code, rate in rates.items()}
    return [
        Leaking(row, settle(costs[row.sku_code] * row.units, currency) if row.sku_code in costs else None)
        for row in found
    ]
