"""Rating: what usage costs. Integers and exact fractions only; nothing is rounded here.

The database does the same cuts and sums in one question for thousands of sessions; `amount` is the one formula of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from billing.enums import Unit
from billing.types import MICRO, MICROSECONDS_PER_HOUR

_MICROSECOND = timedelta(microseconds=1)
_UNIT_MICROSECONDS = {Unit.HOUR: MICROSECONDS_PER_HOUR, Unit.GIB_HOUR: MICROSECONDS_PER_HOUR}


@dataclass(frozen=True, slots=True)
class PriceVersion:
    """One unit's price in [valid_from, valid_to)."""

    sku_code: str
    unit: str
    unit_price: Decimal
    valid_from: datetime
    valid_to: datetime | None


@dataclass(frozen=True, slots=True)
class Held:
    """A quantity (micro-units) of one SKU held over [start, end) in a project; an open end is None."""

    project: str
    sku_code: str
    quantity_micro: int
    start: datetime
    end: datetime | None


@dataclass(frozen=True, slots=True)
class Rated:
    """One project's use of one SKU at one price version."""

    project: str
    sku_code: str
    price_from: datetime
    quantity: Fraction
    exact: Fraction


def rate(
    sessions: Iterable[Held], prices: Sequence[PriceVersion], *, start: datetime, end: datetime
) -> tuple[Rated, ...]:
    """One line per project × SKU × price version for what was held in [start, end), sorted so."""
    weights: dict[tuple[str, str, datetime], int] = {}
    versions = {(price.sku_code, price.valid_from): price for price in prices}
    for session in sessions:
        for price, weight in _pieces(session, prices, start, end):
            key = (session.project, session.sku_code, price.valid_from)
            weights[key] = weights.get(key, 0) + weight
    return tuple(_rated(key, weight, versions[key[1:]]) for key, weight in sorted(weights.items()))


def quantity(weight: int, unit: str) -> Fraction:
    """A weight (micro-units × microseconds; for `each`, micro-units alone) in the SKU's unit."""
    return Fraction(weight, MICRO * _UNIT_MICROSECONDS.get(Unit(unit), 1))


def amount(weight: int, unit: str, unit_price: Decimal) -> Fraction:
    """What a weight costs, exactly."""
    return quantity(weight, unit) * Fraction(unit_price)


def hour_of(quantity_micro: int) -> int:
    """The weight of a quantity held for one hour."""
    return quantity_micro * MICROSECONDS_PER_HOUR


def microseconds(start: datetime, end: datetime) -> int:
    """Elapsed microseconds from start to end, 0 where they do not follow each other.

    Through UTC: Python subtracts the wall clocks of instants that share a zone, and loses the hour that repeats.
    """
    return max((end.astimezone(UTC) - start.astimezone(UTC)) // _MICROSECOND, 0)


def _pieces(
    session: Held, prices: Sequence[PriceVersion], start: datetime, end: datetime
) -> Iterator[tuple[PriceVersion, int]]:
    first = max(session.start.astimezone(UTC), start)
    last = min(session.end.astimezone(UTC), end) if session.end else end
    for price in prices:
        if price.sku_code != session.sku_code:
            continue
        held = microseconds(max(first, price.valid_from), min(last, price.valid_to or last))
        if held:
            yield price, held * session.quantity_micro


def _rated(key: tuple[str, str, datetime], weight: int, price: PriceVersion) -> Rated:
    project, sku_code, price_from = key
    return Rated(
        project=project,
        sku_code=sku_code,
        price_from=price_from,
        quantity=quantity(weight, price.unit),
        exact=amount(weight, price.unit, price.unit_price),
    )
