"""Invoices. Until a month is issued its invoice is a draft, computed anew each time and known by its month."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request

from billing.api import outputs
from billing.api.outputs import DraftInvoiceOutput, DraftOutput, InvoiceLineOutput
from billing.invoice_csv import draft_invoice_csv
from billing.selectors import draft_invoice, invoice_months
from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.routes import route
from tenants.enums import Permission

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
    @shape(summary="List invoices", output=DraftOutput, listed=True, example=_DRAFT)
    def get(self, request: Request) -> HttpResponse:
        """One draft a month, newest first, from the first usage until now."""
        return self.whole([outputs.draft(month) for month in invoice_months(self.actor, self.moment)])


class Invoice(Endpoint):
    @route(permission=Permission.VIEW_INVOICE, verb="invoice.viewed")
    @shape(summary="Show an invoice", output=DraftInvoiceOutput, example=_INVOICE)
    def get(self, request: Request, month: str) -> HttpResponse:
        """What the month would be billed if it ended at `as_of`."""
        return self.answer(outputs.draft_invoice(draft_invoice(self.actor, month, self.moment)))


class InvoiceLines(Endpoint):
    @route(permission=Permission.VIEW_INVOICE, verb="invoice.viewed")
    @shape(summary="List an invoice's lines", output=InvoiceLineOutput, listed=True, example=_LINE)
    def get(self, request: Request, month: str) -> HttpResponse:
        """One per project × SKU × price version. Their amounts sum to the invoice's subtotal."""
        found = draft_invoice(self.actor, month, self.moment)
        return self.whole([outputs.invoice_line(number, line) for number, line in enumerate(found.lines, start=1)])


class InvoiceCsv(Endpoint):
    produces = (CSV,)

    @route(permission=Permission.VIEW_INVOICE, verb="invoice.exported")
    @shape(
        summary="Download an invoice as CSV",
        output=OpenApiTypes.STR,  # type: ignore[arg-type]  # text has no serializer
        media_type=CSV,
    )
    def get(self, request: Request, month: str) -> HttpResponse:
        """The lines, then the subtotal that they sum to."""
        found = draft_invoice(self.actor, month, self.moment)
        name = f"{found.organization}-{found.month}-draft.csv"
        return HttpResponse(
            draft_invoice_csv(found),
            content_type=f"{CSV}; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
