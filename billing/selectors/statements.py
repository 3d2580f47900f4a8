"""What an organisation owes and why: every document, payment and write-off in order, with the balance after each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from billing.enums import AccountKind, DocumentKind
from billing.models import InvoiceDocument, LedgerAccount, LedgerEntry, Payment, WriteOff
from billing.permissions import authorize_invoices
from core.types import Actor
from tenants.selectors import organization_of


@dataclass(frozen=True, slots=True)
class Movement:
    """`amount`: what is owed more (positive) or less. `balance`: what is open after it."""

    at: datetime
    kind: str
    label: str
    document_id: UUID
    amount: Decimal
    balance: Decimal


@dataclass(frozen=True, slots=True)
class Statement:
    currency: str
    movements: tuple[Movement, ...]
    balance: Decimal
    wallet: Decimal
    promotions: Decimal


def statement(actor: Actor) -> Statement:
    """From the first entry until now, read off the receivable account. Raises Forbidden."""
    organization = organization_of(actor)
    authorize_invoices(actor, organization)
    accounts = {row.kind: row.balance for row in LedgerAccount.objects.filter(organization_id=organization.pk)}
    return Statement(
        currency=organization.currency,
        movements=tuple(_movements(organization.pk)),
        balance=accounts.get(AccountKind.RECEIVABLE, Decimal(0)),
        wallet=-accounts.get(AccountKind.WALLET, Decimal(0)),
        promotions=-accounts.get(AccountKind.PROMOTIONS, Decimal(0)),
    )


def _movements(organization_id: UUID) -> Iterator[Movement]:
    labels = _labels(organization_id)
    entries = LedgerEntry.objects.filter(organization_id=organization_id, account__kind=AccountKind.RECEIVABLE)
    balance = Decimal(0)
    for entry in entries.select_related("transaction").order_by("id"):
        kind, _, name = entry.transaction.key.partition("/")
        label, document_id = labels[f"{kind}/{name}"]
        balance += entry.amount
        yield Movement(entry.transaction.at, kind, label, document_id, entry.amount, balance)


def _labels(organization_id: UUID) -> dict[str, tuple[str, UUID]]:
    """What a transaction is about, by its key: the words, and the invoice that it belongs to."""
    found: dict[str, tuple[str, UUID]] = {}
    for row in InvoiceDocument.objects.filter(organization_id=organization_id).only("kind", "number", "corrects_id"):
        of_note = row.kind == DocumentKind.CREDIT_NOTE and row.corrects_id
        found[f"{row.kind}/{row.number}"] = (row.number, of_note or row.pk)
    for paid in Payment.objects.filter(organization_id=organization_id):
        found[f"payment/{paid.pk}"] = (paid.reference, paid.invoice_id)
    for lost in WriteOff.objects.filter(organization_id=organization_id):
        found[f"write_off/{lost.pk}"] = (lost.reason, lost.invoice_id)
    return found
