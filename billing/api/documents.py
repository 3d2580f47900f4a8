"""Issued invoices and credit notes: read, downloaded, and acted on by the platform's finance."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request

from billing.api import document_examples as examples
from billing.api import document_shapes as shapes
from billing.api.document_inputs import CreditingInput, PaymentInput, VoidingInput, WritingOffInput
from billing.api.document_shapes import CreditNoteOutput, IssuedInvoiceOutput, IssuedLineOutput, PaymentOutput
from billing.enums import DocumentKind, MediaType
from billing.invoice_csv import issued_csv
from billing.models import InvoiceDocument
from billing.selectors.documents import content_of, document_of, documents_of, payments_of
from billing.services import notes, papers, payments
from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.routes import route
from tenants.enums import Permission, PlatformPermission

_WAITS = {202: "It is above the limit, and waits for a second person's agreement."}
_MAY = PlatformPermission.MANAGE_INVOICES
_CSV = "text/csv"


class Documents(Endpoint):
    """What the addresses of issued invoices share."""

    def found(self, invoice_id: UUID) -> InvoiceDocument:
        return document_of(self.actor, DocumentKind.INVOICE, invoice_id)

    def told(self, row: InvoiceDocument) -> HttpResponse:
        fresh = self.found(row.pk)
        numbers = list(fresh.notes.order_by("sequence").values_list("number", flat=True))
        return self.one(fresh.standing.version, lambda: shapes.issued_invoice(fresh, numbers))

    def waits(self, row: InvoiceDocument) -> HttpResponse:
        body = shapes.summary(self.found(row.pk))
        return self.accepted(body, location=f"/api/v1/invoices/{row.pk}")


class IssuedInvoice(Documents):
    @route(permission=Permission.VIEW_INVOICE, verb="invoice.viewed")
    @shape(summary="Show an issued invoice", output=IssuedInvoiceOutput, versioned=True, example=examples.INVOICE)
    def get(self, request: Request, invoice_id: UUID) -> HttpResponse:
        """What it says never changes; where it stands does."""
        return self.told(self.found(invoice_id))


class IssuedLines(Documents):
    @route(permission=Permission.VIEW_INVOICE, verb="invoice.viewed")
    @shape(summary="List an issued invoice's lines", output=IssuedLineOutput, listed=True, example=examples.LINE)
    def get(self, request: Request, invoice_id: UUID) -> HttpResponse:
        """As they were frozen. Their net amounts sum to the invoice's."""
        return self.whole(shapes.lines(self.found(invoice_id)))


class InvoicePdf(Documents):
    produces = (MediaType.PDF.value,)

    @route(permission=Permission.VIEW_INVOICE, verb="invoice.exported")
    @shape(
        summary="Download an issued invoice as PDF",
        output=OpenApiTypes.BINARY,  # type: ignore[arg-type]  # bytes have no serializer
        media_type=MediaType.PDF.value,
    )
    def get(self, request: Request, invoice_id: UUID) -> HttpResponse:
        """PDF/A-3b with the same for machines attached. The same bytes each time."""
        return download(self.found(invoice_id), MediaType.PDF)


class InvoiceXml(Documents):
    produces = (MediaType.XML.value,)

    @route(permission=Permission.VIEW_INVOICE, verb="invoice.exported")
    @shape(
        summary="Download an issued invoice as XML",
        output=OpenApiTypes.STR,  # type: ignore[arg-type]  # text has no serializer
        media_type=MediaType.XML.value,
    )
    def get(self, request: Request, invoice_id: UUID) -> HttpResponse:
        """UBL 2.1 with the elements of EN 16931."""
        return download(self.found(invoice_id), MediaType.XML)


class IssuedCsv(Documents):
    produces = (_CSV,)

    @route(permission=Permission.VIEW_INVOICE, verb="invoice.exported")
    @shape(
        summary="Download an issued invoice as CSV",
        output=OpenApiTypes.STR,  # type: ignore[arg-type]  # text has no serializer
        media_type=_CSV,
    )
    def get(self, request: Request, invoice_id: UUID) -> HttpResponse:
        """The lines, then what they sum to."""
        found = self.found(invoice_id)
        headers = {"Content-Disposition": f'attachment; filename="{found.number}.csv"'}
        return HttpResponse(issued_csv(content_of(found)), content_type=f"{_CSV}; charset=utf-8", headers=headers)


class PayInvoice(Documents):
    @route(permission=_MAY, verb="invoice.paid")
    @shape(
        summary="Mark a bank transfer for an invoice",
        input=PaymentInput,
        output=IssuedInvoiceOutput,
        refuses=True,
        example=examples.INVOICE,
    )
    def post(self, request: Request, invoice_id: UUID) -> HttpResponse:
        """In whole or in part. The same reference counts once."""
        found, asked = self.found(invoice_id), self.read(PaymentInput)
        payments.mark_paid(
            actor=self.actor,
            invoice_id=found.pk,
            amount=Decimal(asked.amount),
            reference=asked.reference,
            received_on=asked.received_on,
            now=self.moment,
        )
        return self.told(found)


class VoidInvoice(Documents):
    @route(permission=_MAY, verb="invoice.voided")
    @shape(
        summary="Void an invoice",
        input=VoidingInput,
        output=IssuedInvoiceOutput,
        refuses=True,
        example=examples.INVOICE,
        answers=_WAITS,
    )
    def post(self, request: Request, invoice_id: UUID) -> HttpResponse:
        """A credit note over all that is left and, where asked, a replacement with the same lines."""
        found, asked = self.found(invoice_id), self.read(VoidingInput)
        done = notes.void(
            actor=self.actor, invoice_id=found.pk, reason=asked.reason, replace=asked.replace, now=self.moment
        )
        return self.told(found) if done else self.waits(found)


class WriteOffInvoice(Documents):
    @route(permission=_MAY, verb="invoice.written_off")
    @shape(
        summary="Write off what is open of an invoice",
        input=WritingOffInput,
        output=IssuedInvoiceOutput,
        refuses=True,
        example=examples.INVOICE,
        answers=_WAITS,
    )
    def post(self, request: Request, invoice_id: UUID) -> HttpResponse:
        found, asked = self.found(invoice_id), self.read(WritingOffInput)
        done = payments.write_off(actor=self.actor, invoice_id=found.pk, reason=asked.reason, now=self.moment)
        return self.told(found) if done else self.waits(found)


class CreditNotes(Documents):
    @route(permission=Permission.VIEW_INVOICE, verb="credit_note.listed")
    @shape(summary="List credit notes", output=CreditNoteOutput, listed=True, example=examples.NOTE)
    def get(self, request: Request) -> HttpResponse:
        rows = documents_of(self.actor, DocumentKind.CREDIT_NOTE)
        return self.page(rows, lambda found: [shapes.credit_note(row) for row in found])

    @route(permission=_MAY, verb="credit_note.issued")
    @shape(
        summary="Credit lines of an invoice",
        input=CreditingInput,
        output=CreditNoteOutput,
        status=201,
        refuses=True,
        example=examples.NOTE,
        answers=_WAITS,
    )
    def post(self, request: Request) -> HttpResponse:
        """Never more than is left of a line. What was paid already goes into the wallet."""
        asked = self.read(CreditingInput)
        found = self.found(asked.invoice)
        made = notes.credit(
            actor=self.actor, invoice_id=found.pk, credits=asked.credits, reason=asked.reason, now=self.moment
        )
        if made is None:
            return self.waits(found)
        return self.created(shapes.credit_note(made), location=f"/api/v1/credit-notes/{made.pk}")


class CreditNote(Endpoint):
    @route(permission=Permission.VIEW_INVOICE, verb="credit_note.viewed")
    @shape(summary="Show a credit note", output=CreditNoteOutput, example=examples.NOTE)
    def get(self, request: Request, note_id: UUID) -> HttpResponse:
        return self.answer(shapes.credit_note(document_of(self.actor, DocumentKind.CREDIT_NOTE, note_id)))


class CreditNotePdf(Endpoint):
    produces = (MediaType.PDF.value,)

    @route(permission=Permission.VIEW_INVOICE, verb="credit_note.exported")
    @shape(
        summary="Download a credit note as PDF",
        output=OpenApiTypes.BINARY,  # type: ignore[arg-type]  # bytes have no serializer
        media_type=MediaType.PDF.value,
    )
    def get(self, request: Request, note_id: UUID) -> HttpResponse:
        return download(document_of(self.actor, DocumentKind.CREDIT_NOTE, note_id), MediaType.PDF)


class Payments(Endpoint):
    @route(permission=Permission.VIEW_INVOICE, verb="payment.listed")
    @shape(summary="List payments", output=PaymentOutput, listed=True, example=examples.PAYMENT)
    def get(self, request: Request) -> HttpResponse:
        return self.page(payments_of(self.actor), lambda found: [shapes.payment(row) for row in found])


def download(row: InvoiceDocument, media_type: MediaType) -> HttpResponse:
    end = media_type.value.rpartition("/")[2]
    return HttpResponse(
        papers.file_of(row, media_type),
        content_type=media_type.value,
        headers={"Content-Disposition": f'attachment; filename="{row.number}.{end}"'},
    )
