"""The books against themselves: balances against entries, standings against what happened, chains against hashes."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from uuid import UUID

from django.db.models import Model, QuerySet, Sum

from billing.enums import DocumentKind, GrantKind, UseKind
from billing.invoicing.canonical import Link, faults
from billing.models import CreditUse, InvoiceDocument, InvoiceStanding, Payment, WriteOff
from billing.services import ledger


def faults_found() -> list[str]:
    """Everything in the scope that does not agree, in words; empty where all does. Nothing is corrected."""
    return [*_of_balances(), *_of_standings(), *_of_chains()]


def _of_balances() -> list[str]:
    return [f"{drift.account}: stands at {drift.stands}, entries say {drift.should}." for drift in ledger.drifts()]


def _of_standings() -> list[str]:
    paid = _sums(Payment.objects.all(), "invoice")
    prepaid = _sums(
        CreditUse.objects.filter(kind=UseKind.USED, grant__kind=GrantKind.PREPAID, document__isnull=False), "document"
    )
    lost = _sums(WriteOff.objects.all(), "invoice")
    notes = InvoiceDocument.objects.filter(kind=DocumentKind.CREDIT_NOTE)
    given = {row["corrects"]: row["sum"] for row in notes.values("corrects").annotate(sum=Sum("total"))}
    none = Decimal(0)
    return [
        f"{row.invoice.number}: stands at {(row.settled, row.credited, row.written_off)}, should be {should}."
        for row in InvoiceStanding.objects.select_related("invoice").order_by("id")
        if (
            should := (
                paid.get(row.invoice_id, none) + prepaid.get(row.invoice_id, none),
                given.get(row.invoice_id, none),
                lost.get(row.invoice_id, none),
            )
        )
        != (row.settled, row.credited, row.written_off)
    ]


def _of_chains() -> list[str]:
    links: dict[UUID, list[Link]] = defaultdict(list)
    for row in InvoiceDocument.objects.order_by("series", "sequence").iterator():
        links[row.series_id].append(Link(row.sequence, row.number, row.body, row.previous_hash, row.hash))
    return [fault for series in links.values() for fault in faults(series)]


def _sums(rows: QuerySet[Model], name: str) -> dict[UUID, Decimal]:
    return {row[name]: row["sum"] for row in rows.values(name).annotate(sum=Sum("amount"))}
