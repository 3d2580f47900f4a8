"""What state an issued invoice is in: read off its amounts and its due date, never set."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from billing.enums import InvoiceState


@dataclass(frozen=True, slots=True)
class Balance:
    """`settled`: prepaid credit and payments; `credited`: by notes; `due_at`: None where nothing is to be paid."""

    total: Decimal
    settled: Decimal
    credited: Decimal
    written_off: Decimal
    voided: bool
    due_at: datetime | None

    @property
    def open(self) -> Decimal:
        """What is still to be paid; what was paid and then credited went to the wallet."""
        return max(self.total - self.settled - self.credited - self.written_off, Decimal(0))


def state_of(balance: Balance, now: datetime) -> InvoiceState:
    if balance.voided:
        return InvoiceState.VOID
    if not balance.open:
        return _settled(balance)
    if balance.due_at is not None and balance.due_at <= now:
        return InvoiceState.OVERDUE
    return InvoiceState.PARTIALLY_PAID if balance.settled > 0 else InvoiceState.ISSUED


def _settled(balance: Balance) -> InvoiceState:
    if balance.written_off > 0:
        return InvoiceState.WRITTEN_OFF
    if balance.total > 0 and balance.credited >= balance.total:
        return InvoiceState.CREDITED
    return InvoiceState.PAID
