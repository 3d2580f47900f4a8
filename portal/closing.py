"""The final bill of an organisation that closes: the drafts of its months that no invoice has settled yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from billing.enums import PeriodState
from billing.selectors import draft_invoice, invoice_months
from core.money import Money
from core.types import Actor


@dataclass(frozen=True, slots=True)
class FinalMonth:
    """One open month: its draft, up to the instant of closing."""

    month: str
    total: Money
    lines: int
    url: str

    @property
    def total_words(self) -> str:
        return f"{self.total.amount} {self.total.currency}"


def totals(actor: Actor, now: datetime) -> dict[str, str]:
    """The same as words by month, for the audit log."""
    return {row.month: row.total_words for row in final_bill(actor, now)}


def final_bill(actor: Actor, now: datetime) -> list[FinalMonth]:
    """Newest first. Once nothing lives any more, a draft says the same for ever: it counts what was used."""
    months = [month for month in invoice_months(actor, now) if month.state == PeriodState.OPEN]
    drafts = [(month.name, draft_invoice(actor, month.name, now)) for month in months]
    return [
        FinalMonth(name, draft.subtotal, len(draft.lines), f"{reverse('invoice-draft')}?month={name}")
        for name, draft in drafts
    ]
