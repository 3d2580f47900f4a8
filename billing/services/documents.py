"""Numbering and freezing: the last thing that the transaction of an issuing act does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

from billing.enums import DocumentKind, InvoiceState
from billing.invoicing.canonical import GENESIS, chained, spelled
from billing.invoicing.standing import Balance, state_of
from billing.invoicing.values import Heading, Party, Tax
from billing.models import BillingPeriod, InvoiceDocument, InvoiceSeries, InvoiceStanding
from core.types import Json

_MARK = {DocumentKind.INVOICE: "", DocumentKind.CREDIT_NOTE: "-CN"}


@dataclass(frozen=True, slots=True)
class Draft:
    """What a document will say, but for its number."""

    kind: DocumentKind
    period: BillingPeriod
    prefix: str
    language: str
    seller: Party
    buyer: Party
    tax: Tax
    net: Decimal
    tax_amount: Decimal
    terms_days: int | None
    corrects: InvoiceDocument | None = None
    replaces: InvoiceDocument | None = None
    approval_id: UUID | None = None


def freeze(draft: Draft, content: Callable[[Heading], dict[str, Json]], *, now: datetime) -> InvoiceDocument:
    """Lock the series, take the next number, write the document. Nothing may fail or wait after it but the commit."""
    period = draft.period
    issued_on = now.astimezone(ZoneInfo(period.time_zone)).date()
    due_on = issued_on + timedelta(days=draft.terms_days) if draft.terms_days is not None else None
    series = _series(draft)
    sequence = series.last_sequence + 1
    number = f"{series.prefix}-{sequence:06d}"
    heading = Heading(
        number=number,
        issued_at=now,
        issued_on=issued_on,
        due_on=due_on,
        time_zone=period.time_zone,
        language=draft.language,
        currency=period.currency,
        seller=draft.seller,
        buyer=draft.buyer,
        tax=draft.tax,
        previous_hash=series.last_hash,
    )
    body = spelled(content(heading))
    made = InvoiceDocument.objects.create(
        organization_id=period.organization_id,
        kind=draft.kind,
        series=series,
        sequence=sequence,
        number=number,
        period=period,
        corrects=draft.corrects,
        replaces=draft.replaces,
        currency=period.currency,
        net=draft.net,
        tax=draft.tax_amount,
        total=draft.net + draft.tax_amount,
        issued_at=now,
        due_at=_end_of(due_on, period.time_zone) if due_on else None,
        body=body,
        previous_hash=series.last_hash,
        hash=chained(body, series.last_hash),
        approval_id=draft.approval_id,
    )
    series.last_sequence, series.last_hash = sequence, made.hash
    series.save(update_fields=["last_sequence", "last_hash"])
    return made


def stand(invoice: InvoiceDocument, *, settled: Decimal, now: datetime) -> InvoiceStanding:
    """The projection of a new invoice."""
    row = InvoiceStanding(
        organization_id=invoice.organization_id,
        invoice=invoice,
        total=invoice.total,
        settled=settled,
        due_at=invoice.due_at,
    )
    project(row, now=now)
    row.save(force_insert=True)
    return row


def project(row: InvoiceStanding, *, now: datetime) -> bool:
    """Set what is open and the state from the amounts; True where the state is another."""
    balance = balance_of(row)
    state: InvoiceState = state_of(balance, now)
    changed = row.state != state
    row.open, row.state = balance.open, state
    return changed


def balance_of(row: InvoiceStanding) -> Balance:
    return Balance(row.total, row.settled, row.credited, row.written_off, row.voided, row.due_at)


def save(row: InvoiceStanding) -> None:
    row.version += 1
    row.save(update_fields=["settled", "credited", "written_off", "open", "voided", "state", "version"])


def _series(draft: Draft) -> InvoiceSeries:
    organization_id = draft.period.organization_id
    InvoiceSeries.objects.bulk_create(
        [
            InvoiceSeries(
                organization_id=organization_id,
                kind=draft.kind,
                prefix=f"{draft.prefix}{_MARK[draft.kind]}",
                last_hash=GENESIS,
            )
        ],
        ignore_conflicts=True,
    )
    return InvoiceSeries.objects.select_for_update().get(organization_id=organization_id, kind=draft.kind)


def _end_of(day: date, zone: str) -> datetime:
    """The first instant after a local day."""
    return datetime.combine(day + timedelta(days=1), time.min, tzinfo=ZoneInfo(zone))
