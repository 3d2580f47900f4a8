"""From a subtotal to what is due: promotions before tax, prepaid credit after, what expires first goes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from billing.invoicing.taxes import tax_on
from billing.invoicing.values import Grant, Totals, Use
from core.money import settle_parts


def totals(
    subtotal: Decimal,
    *,
    rate: Decimal,
    currency: str,
    promotions: Iterable[Grant],
    prepaid: Iterable[Grant],
    period_end: datetime,
    now: datetime,
) -> Totals:
    """Promotions that expired before the period's end are not used, nor prepaid credit that has expired by now."""
    discounts = draw(subtotal, promotions, at=period_end)
    net = subtotal - _sum(discounts)
    tax = tax_on(net, rate, currency)
    paid = draw(net + tax, prepaid, at=now)
    return Totals(subtotal, discounts, net, tax, net + tax, paid, net + tax - _sum(paid))


def draw(wanted: Decimal, grants: Iterable[Grant], *, at: datetime) -> tuple[Use, ...]:
    """Use grants until the amount is covered: the one that expires first, then the older, then the smaller id."""
    uses = []
    for grant in sorted((grant for grant in grants if _lives(grant, at)), key=_order):
        part = min(wanted, grant.left)
        if part > 0:
            uses.append(Use(grant.id, grant.label, part))
            wanted -= part
    return tuple(uses)


def shares(amount: Decimal, parts: Sequence[Decimal], currency: str) -> tuple[Decimal, ...]:
    """The amount over the parts in proportion to them, by largest remainder: the shares sum to it exactly."""
    whole = sum(parts, Decimal(0))
    if not whole:
        return tuple(Decimal(0) for _ in parts)
    exact = [Fraction(amount) * Fraction(part) / Fraction(whole) for part in parts]
    return tuple(money.amount for money in settle_parts(exact, currency))


def _lives(grant: Grant, at: datetime) -> bool:
    return grant.left > 0 and grant.granted_at <= at and (grant.expires_at is None or grant.expires_at >= at)


def _order(grant: Grant) -> tuple[bool, datetime, datetime, str]:
    return (grant.expires_at is None, grant.expires_at or grant.granted_at, grant.granted_at, str(grant.id))


def _sum(uses: Iterable[Use]) -> Decimal:
    return sum((use.amount for use in uses), Decimal(0))
