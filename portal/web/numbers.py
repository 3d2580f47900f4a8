"""Exact numbers as pages write them."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

from core.money import Money, plain

_DIGITS = 10


def exactly(value: Fraction, currency: str) -> str:
    """An exact amount with ten digits at most, for the hover: "12.4311712 USD"."""
    digits = f"{plain(value, digits=_DIGITS):,f}".rstrip("0").rstrip(".")
    return f"{digits} {currency}"


def rate(value: Fraction, currency: str) -> Money:
    """A price per hour, unsettled: ten digits at most. Never added up."""
    return Money(plain(value, digits=_DIGITS).normalize(), currency)


def hours_as_time(hours: Fraction) -> timedelta:
    """Exact hours as a time span, to the microsecond."""
    return timedelta(microseconds=round(hours * 3_600_000_000))


def hours_words(hours: Fraction) -> str:
    """721 → "721", 0.5 → "0.5"; four digits at most."""
    return f"{plain(hours, digits=4):,f}".rstrip("0").rstrip(".")


def per_mille(part: Fraction, whole: Fraction) -> int:
    return round(part * 1000 / whole) if whole else 0
