"""Drafts. Until a month is issued its invoice is a draft, computed anew each time and known by its month."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request

from billing.api import outputs
from billing.api.document_examples import SUMMARY
from billing.api.document_inputs import IssuingInput
from billing.api.document_shapes import InvoiceSummaryOutput, summary
from billing.api.outputs import DraftInvoiceOutput, InvoiceLineOutput
from billing.enums import DocumentKind, PeriodState
from billing.invoice_csv import draft_invoice_csv
from billing.selectors import draft_invoice, invoice_months
from billing.selectors.documents import documents_of, issued_invoice_of
from billing.services import invoices
from billing.types import DraftInvoice
from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import Conflict
from core.routes import route
from core.types import Actor
from tenants.enums import Permission, PlatformPermission
from tenants.selectors import organization_of

CSV = "text/csv"
_DRAFT = {
    "id": "2026-11",
    "number": None,
    "state": "draft",
    "period": "2026-11",
    "from": "2026-10-31T23:00:00Z",
    "to": "2026-11-30T23:00:00Z",
}
_INVOICE = {
    **_DRAFT,
    "organization": {"id": "0199aa00-0000-7000-8000-000000000001", "label": "aurora"},
    "as_of": "2026-11-30T18:00:00Z",
    "subtotal": {"amount": "9.30", "currency": "USD"},
}
_LINE = {
    "position": 1,
    "project": {"id": "0199aa00-0000-7000-8000-000000000003", "label": "vision"},
    "sku": "gpu-hour/h100/on-demand",
    "description": "H100, on demand",
    "unit": "hour",
    "quantity": "3.000000",
    "unit_price": {"amount": "3.1", "currency": "USD"},
    "price_from": "2026-01-01T00:00:00Z",
    "late": False,
    "amount": {"amount": "9.30", "currency": "USD"},
}


class Invoices(Endpoint):
    @route(permission=Permission.VIEW_INVOICE, verb="invoice.listed")
    @shape(summary="List invoices", output=InvoiceSummaryOutput, listed=True, example=SUMMARY)
    def get(self, request: Request) -> HttpResponse:
        """What was issued, and one draft for each month that is not, newest month first."""
        months = [month for month in invoice_months(self.actor, self.moment) if month.state == PeriodState.OPEN]
        issued = list(documents_of(self.actor, DocumentKind.INVOICE))
        rows = [(month.name, "", outputs.draft_summary(month)) for month in months]
        rows += [(row.period.name, row.number, summary(row)) for row in issued]
        return self.whole([row for _, _, row in sorted(rows, key=lambda row: row[:2], reverse=True)])

    @route(permission=PlatformPermission.MANAGE_INVOICES, verb="invoice.issued")
    @shape(
        summary="Issue a month's invoice",
        input=IssuingInput,
        output=InvoiceSummaryOutput,
        status=201,
        refuses=True,
        example=SUMMARY,
        answers={204: "The month is closed; nothing was to be billed."},
    )
    def post(self, request: Request) -> HttpResponse:
        """At once instead of within the hour. Issued already: the same invoice again."""
        made = invoices.issue(
            actor=self.actor,
            organization_id=organization_of(self.actor).pk,
            month=self.read(IssuingInput).month,
            now=self.moment,
        )
        if made is None:
            return self.nothing()
        return self.created(summary(made), location=f"/api/v1/invoices/{made.pk}")


class Invoice(Endpoint):
    @route(permission=Permission.VIEW_INVOICE, verb="invoice.viewed")
    @shape(summary="Show an invoice", output=DraftInvoiceOutput, refuses=True, example=_INVOICE)
    def get(self, request: Request, month: str) -> HttpResponse:
        """What the month would be billed if it ended at `as_of`."""
        return self.answer(outputs.draft_invoice(_draft(self.actor, month, self.moment)))


class InvoiceLines(Endpoint):
    @route(permission=Permission.VIEW_INVOICE, verb="invoice.viewed")
    @shape(summary="List an invoice's lines", output=InvoiceLineOutput, listed=True, refuses=True, example=_LINE)
    def get(self, request: Request, month: str) -> HttpResponse:
        """One per project × SKU × price version. Their amounts sum to the invoice's subtotal."""
        found = _draft(self.actor, month, self.moment)
        return self.whole([outputs.invoice_line(number, line) for number, line in enumerate(found.lines, start=1)])


class InvoiceCsv(Endpoint):
    produces = (CSV,)

    @route(permission=Permission.VIEW_INVOICE, verb="invoice.exported")
    @shape(
        summary="Download an invoice as CSV",
        output=OpenApiTypes.STR,  # type: ignore[arg-type]  # text has no serializer
        media_type=CSV,
        refuses=True,
    )
    def get(self, request: Request, month: str) -> HttpResponse:
        """The lines, then the subtotal that they sum to."""
        found = _draft(self.actor, month, self.moment)
        name = f"{found.organization}-{found.month}-draft.csv"
        return HttpResponse(
            draft_invoice_csv(found),
            content_type=f"{CSV}; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )


def _draft(actor: Actor, month: str, now: datetime) -> DraftInvoice:
    """What is issued is no draft any more: Conflict says under which id it is found."""
    issued = issued_invoice_of(actor, month)
    if issued is not None:
        raise Conflict(f"{month} was issued as {issued.number}: ask for {issued.pk}.", code="already_issued")
    return draft_invoice(actor, month, now)
