"""Credit notes: whatever is given back in parts sums to what was billed, tax included, to the last minor unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from billing.invoicing.taxes import tax_on
from core.types import Reason


@dataclass(frozen=True, slots=True)
class NoteAmounts:
    net: Decimal
    tax: Decimal

    @property
    def total(self) -> Decimal:
        return self.net + self.tax


def note_amounts(credit: Decimal, *, credited: Decimal, rate: Decimal, currency: str) -> NoteAmounts:
    """A note over `credit` (net), after `credited` (net) was given back already.

    Its tax is what lacks to the tax of all that is then given back, so that the roundings of many notes cannot
    drift from the one rounding of the invoice.
    """
    before, after = (tax_on(net, rate, currency) for net in (credited, credited + credit))
    return NoteAmounts(credit, after - before)


def refuse_too_much(
    credits: Mapping[int, Decimal], *, billed: Sequence[Decimal], credited: Mapping[int, Decimal]
) -> tuple[Reason, ...]:
    """A reason for each line (by position, from 1) that would give back more than is left of it, or nothing."""
    reasons = []
    for position, amount in sorted(credits.items()):
        if not 1 <= position <= len(billed):
            reasons.append(Reason(code="no_such_line", message=f"The invoice has no line {position}."))
            continue
        left = billed[position - 1] - credited.get(position, Decimal(0))
        if not 0 < amount <= left:
            reasons.append(
                Reason(code="more_than_left", message=f"Line {position} has {left} left to credit, not {amount}.")
            )
    return tuple(reasons)
