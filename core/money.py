"""Money: exact until settled, rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

_MINOR_UNITS = {"JPY": 0, "KRW": 0, "CLP": 0, "VND": 0, "ISK": 0, "KWD": 3, "BHD": 3, "OMR": 3, "JOD": 3, "TND": 3}
"""Digits after the point where they are not two (ISO 4217)."""


def minor_digits(currency: str) -> int:
    """Digits of the currency's minor unit: 2 for USD, 0 for JPY, 3 for KWD."""
    return _MINOR_UNITS.get(currency, 2)


@dataclass(frozen=True, slots=True)
class Money:
    """A settled amount.

    Usage stays integer, rating exact fractions; only `settle` rounds, half to even, to the currency's minor unit.
    """

    amount: Decimal
    currency: str

    def __add__(self, other: Money) -> Money:
        if other.currency != self.currency:
            raise ValueError(f"{self.currency} and {other.currency} do not add up.")
        return Money(self.amount + other.amount, self.currency)


def settle(exact: Fraction, currency: str) -> Money:
    """The one rounding: half to even, to the currency's minor unit."""
    return Money(_as_decimal(round(exact * 10 ** minor_digits(currency)), currency), currency)


def settle_parts(parts: Sequence[Fraction], currency: str) -> tuple[Money, ...]:
    """Settle each part so that the parts sum to the settled total: largest remainder, ties to the earlier part."""
    scale = 10 ** minor_digits(currency)
    scaled = [part * scale for part in parts]
    floors = [part.numerator // part.denominator for part in scaled]
    missing = round(sum(scaled, Fraction(0))) - sum(floors)
    by_remainder = sorted(range(len(parts)), key=lambda index: (floors[index] - scaled[index], index))
    units = list(floors)
    for index in by_remainder[:missing]:
        units[index] += 1
    return tuple(Money(_as_decimal(unit, currency), currency) for unit in units)


def plain(exact: Fraction, *, digits: int) -> Decimal:
    """A rate or an exact quantity for people's eyes, at a given number of digits. Never added up afterwards."""
    return Decimal(round(exact * 10**digits)).scaleb(-digits)


def _as_decimal(units: int, currency: str) -> Decimal:
    return Decimal(units).scaleb(-minor_digits(currency))
