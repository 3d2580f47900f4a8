"""The one question behind every cost: sessions cut at a span's ends and at price changes, summed as integers in SQL.

A weight is micro-units × microseconds. The database adds; the multiplication by a price is `billing.rating.amount`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import BooleanField, Case, DateTimeField, DecimalField, F, Func, Q, QuerySet, Sum, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Greatest, Least

from billing.models import UsageSession

_PRICE = (
    "sku__code",
    "sku__label",
    "sku__unit",
    "sku__prices__id",
    "sku__prices__unit_price",
    "sku__prices__valid_from",
)


@dataclass(frozen=True, slots=True)
class Weighed:
    """What was held at one price by one group. `key`: the values of the columns that were grouped by; `held`: plain
    microseconds; `weight`: micro-units × microseconds."""

    key: tuple[object, ...]
    sku_code: str
    sku_label: str
    unit: str
    price_id: UUID
    unit_price: Decimal
    price_from: datetime
    currency: str
    late: bool
    held: int
    weight: int


class Microseconds(Func):
    """Elapsed microseconds between two instants, as an exact integer."""

    template = "(EXTRACT(EPOCH FROM (%(expressions)s)) * 1000000)::numeric(20, 0)"
    arg_joiner = " - "
    output_field = DecimalField(max_digits=20, decimal_places=0)


def weigh(
    sessions: QuerySet[UsageSession],
    *,
    by: Sequence[str],
    until: datetime,
    since: datetime | None = None,
    period_id: UUID | None = None,
) -> Iterator[Weighed]:
    """Weights by the named columns × SKU × price version, for what was held in [since, until). One query.

    Sessions that are still open count up to `until`. Facts that were taken into the period `period_id` from an earlier
    one count from their own start, apart (`late`).
    """
    late = Q(period_id=period_id, during__startswith__lt=since) if period_id and since else Q(pk__in=[])
    rows = (
        sessions.order_by()
        .filter(sku__prices__currency=F("period__currency"))
        .annotate(
            late=Case(When(late, then=Value(True)), default=Value(False), output_field=BooleanField()),
            starts=Greatest(F("sku__prices__valid_from"), _first(since, late), output_field=DateTimeField()),
            ends=Least(F("during__endswith"), F("sku__prices__valid_to"), Value(until), output_field=DateTimeField()),
        )
        .filter(ends__gt=F("starts"))
        .values(*by, *_PRICE, "period__currency", "late")
        .annotate(held=Sum(_held()), weight=Sum(_weight()))
    )
    for row in rows:
        yield Weighed(
            key=tuple(row[name] for name in by),
            sku_code=row["sku__code"],
            sku_label=row["sku__label"],
            unit=row["sku__unit"],
            price_id=row["sku__prices__id"],
            unit_price=row["sku__prices__unit_price"],
            price_from=row["sku__prices__valid_from"],
            currency=row["period__currency"],
            late=row["late"],
            held=int(row["held"]),
            weight=int(row["weight"]),
        )


def _first(since: datetime | None, late: Q) -> Combinable:
    start = F("during__startswith")
    if since is None:
        return start
    return Case(When(late, then=start), default=Greatest(start, Value(since)), output_field=DateTimeField())


def _held() -> Combinable:
    return Microseconds(F("ends"), F("starts"))


def _weight() -> Combinable:
    return Cast("quantity_micro", DecimalField(max_digits=20, decimal_places=0)) * _held()
