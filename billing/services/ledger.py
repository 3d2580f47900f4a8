"""Postings: what happened to money, in entries that sum to zero. Called inside the act that records itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import F, Sum

from billing.enums import AccountKind
from billing.models import LedgerAccount, LedgerEntry, LedgerTransaction
from core.locks import lock


def serialise(organization_id: UUID) -> None:
    """One money act of an organisation at a time. Taken after a period's row and before a series."""
    lock("billing.money", str(organization_id))


def post(
    *, organization_id: UUID, key: str, currency: str, amounts: Mapping[AccountKind, Decimal], at: datetime
) -> None:
    """Debits (positive) and credits (negative) by account; zeros are left out. The database refuses what does not sum
    to zero, and a key that was posted before."""
    entries = {kind: amount for kind, amount in sorted(amounts.items()) if amount}
    if not entries:
        return
    made = LedgerTransaction.objects.create(organization_id=organization_id, key=key, at=at)
    for kind, amount in entries.items():
        account, _ = LedgerAccount.objects.get_or_create(organization_id=organization_id, kind=kind, currency=currency)
        LedgerEntry.objects.create(
            organization_id=organization_id, transaction=made, account=account, currency=currency, amount=amount
        )
        LedgerAccount.objects.filter(pk=account.pk).update(balance=F("balance") + amount)


@dataclass(frozen=True, slots=True)
class Drift:
    """A balance that is not the sum of its account's entries."""

    organization_id: UUID
    account: str
    stands: Decimal
    should: Decimal


def drifts() -> list[Drift]:
    """Every balance of the scope against its entries, recomputed."""
    sums = {
        row["account_id"]: row["sum"] for row in LedgerEntry.objects.values("account_id").annotate(sum=Sum("amount"))
    }
    return [
        Drift(row.organization_id, row.ref.label, row.balance, sums.get(row.pk, Decimal(0)))
        for row in LedgerAccount.objects.order_by("organization_id", "kind")
        if row.balance != sums.get(row.pk, Decimal(0))
    ]
