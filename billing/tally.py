"""Costs brought together: exact sums by group, settled so that the rows sum to the total."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from billing.enums import Component
from billing.types import MICRO, MICROSECONDS_PER_HOUR, CostRow, CostTable
from core.money import settle, settle_parts


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of cost and the group that it belongs to. `held` in microseconds, `weight` times micro-units."""

    key: str
    label: str
    component: str
    held: int
    weight: int
    exact: Fraction


def table(
    parts: Iterable[Part], *, group_by: str, currency: str, start: datetime, end: datetime, as_of: datetime
) -> CostTable:
    """One row per key, dearest first; the rows' amounts sum to the settled total."""
    groups: dict[str, list[Part]] = {}
    for part in parts:
        groups.setdefault(part.key, []).append(part)
    exact = {key: sum((part.exact for part in group), Fraction(0)) for key, group in groups.items()}
    order = sorted(groups, key=lambda key: (-exact[key], groups[key][0].label, key))
    amounts = settle_parts([exact[key] for key in order], currency)
    return CostTable(
        group_by=group_by,
        start=start,
        end=end,
        as_of=as_of,
        rows=tuple(
            CostRow(
                key=key,
                label=groups[key][-1].label,
                running_hours=_running_hours(groups[key]),
                accelerator_hours=_accelerator_hours(groups[key]),
                exact=exact[key],
                amount=amount,
            )
            for key, amount in zip(order, amounts, strict=True)
        ),
        total=settle(sum(exact.values(), Fraction(0)), currency),
    )


def _running_hours(parts: Sequence[Part]) -> Fraction:
    held = sum(part.held for part in parts if part.component != Component.DISK)
    return Fraction(held, MICROSECONDS_PER_HOUR)


def _accelerator_hours(parts: Sequence[Part]) -> Fraction:
    weight = sum(part.weight for part in parts if part.component == Component.ACCELERATOR)
    return Fraction(weight, MICRO * MICROSECONDS_PER_HOUR)
