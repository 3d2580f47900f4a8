"""What finance sees first: every invoice and where it stands, and what is left of credit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from billing.enums import DocumentKind, InvoiceState
from billing.invoicing import document
from billing.invoicing.presented import presented
from billing.models import BillingProfile, InvoiceDocument, InvoiceHold, Payment, WriteOff
from billing.selectors.documents import content_of, document_of, documents_of
from billing.selectors.parties import profile_at
from billing.selectors.statements import Statement, statement
from core.types import Actor, Json
from tenants.selectors import organization_of


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """`open` of a note is nothing; `about`: the number that a note corrects or an invoice replaces."""

    id: UUID
    number: str
    month: str
    state: str
    total: Decimal
    open: Decimal
    currency: str
    issued_at: datetime
    due_at: datetime | None
    about: str


@dataclass(frozen=True, slots=True)
class HeldMonth:
    """A month that is over and has no invoice, and every reason."""

    month: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    invoices: tuple[DocumentRow, ...]
    notes: tuple[DocumentRow, ...]
    held: tuple[HeldMonth, ...]
    statement: Statement
    overdue: Decimal
    profile: BillingProfile | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Money that came in, or that was given up."""

    on: date
    words: str
    amount: Decimal


@dataclass(frozen=True, slots=True)
class InvoiceView:
    """An issued invoice as it reads, and what followed."""

    row: DocumentRow
    said: dict[str, Json]
    lines: tuple[dict[str, Json], ...]
    notes: tuple[DocumentRow, ...]
    receipts: tuple[Receipt, ...]
    replacement: DocumentRow | None
    hash: str


def overview(actor: Actor, now: datetime) -> Overview:
    """Raises Forbidden."""
    invoices = [_row(row) for row in documents_of(actor, DocumentKind.INVOICE)]
    organization = organization_of(actor)
    holds = InvoiceHold.objects.filter(organization_id=organization.pk).select_related("period")
    return Overview(
        invoices=tuple(invoices),
        notes=tuple(_row(row) for row in documents_of(actor, DocumentKind.CREDIT_NOTE)),
        held=tuple(
            HeldMonth(hold.period.name, tuple(reason["message"] for reason in hold.reasons))
            for hold in holds.order_by("period__start")
        ),
        statement=statement(actor),
        overdue=sum((row.open for row in invoices if row.state == InvoiceState.OVERDUE), Decimal(0)),
        profile=profile_at(organization.pk, now),
    )


def invoice_view(actor: Actor, invoice_id: UUID) -> InvoiceView:
    """Raises NotFound or Forbidden."""
    found = document_of(actor, DocumentKind.INVOICE, invoice_id)
    content = content_of(found)
    notes = documents_of(actor, DocumentKind.CREDIT_NOTE).filter(corrects=found)
    replacement = documents_of(actor, DocumentKind.INVOICE).filter(replaces=found).first()
    receipts = [
        Receipt(row.received_on, f"Bank transfer {row.reference}", row.amount)
        for row in Payment.objects.filter(invoice=found).order_by("id")
    ]
    receipts += [
        Receipt(row.at.date(), f"Written off: {row.reason}", row.amount)
        for row in WriteOff.objects.filter(invoice=found)
    ]
    return InvoiceView(
        row=_row(found),
        said=presented(content),
        lines=tuple(document.lines_of(content)),
        notes=tuple(_row(row) for row in notes),
        receipts=tuple(receipts),
        replacement=_row(replacement) if replacement else None,
        hash=found.hash,
    )


def _row(row: InvoiceDocument) -> DocumentRow:
    """For a row that came with its standing, period and the documents that it refers to."""
    note = row.kind == DocumentKind.CREDIT_NOTE
    about = row.corrects if note else row.replaces
    return DocumentRow(
        id=row.pk,
        number=row.number,
        month=row.period.name,
        state="" if note else row.standing.state,
        total=row.total,
        open=Decimal(0) if note else row.standing.open,
        currency=row.currency,
        issued_at=row.issued_at,
        due_at=row.due_at,
        about=about.number if about else "",
    )
