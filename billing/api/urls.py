"""Addresses of billing."""

from __future__ import annotations

from django.urls import path

from billing.api.accounts import BillingProfiles, CreditGrants, LedgerAccounts, LedgerEntries, Seller, Statements
from billing.api.catalogue import PriceBook, PriceBooks, Sku, Skus
from billing.api.documents import (
    CreditNote,
    CreditNotePdf,
    CreditNotes,
    InvoicePdf,
    InvoiceXml,
    IssuedCsv,
    IssuedInvoice,
    IssuedLines,
    PayInvoice,
    Payments,
    VoidInvoice,
    WriteOffInvoice,
)
from billing.api.invoices import Invoice, InvoiceCsv, InvoiceLines, Invoices
from billing.api.usage import Costs, UsageSession, UsageSessions

urlpatterns = [
    path("usage-sessions", UsageSessions.as_view()),
    path("usage-sessions/<uuid:session_id>", UsageSession.as_view()),
    path("costs", Costs.as_view()),
    path("invoices", Invoices.as_view()),
    path("invoices/<uuid:invoice_id>", IssuedInvoice.as_view()),
    path("invoices/<uuid:invoice_id>/lines", IssuedLines.as_view()),
    path("invoices/<uuid:invoice_id>.pdf", InvoicePdf.as_view()),
    path("invoices/<uuid:invoice_id>.xml", InvoiceXml.as_view()),
    path("invoices/<uuid:invoice_id>.csv", IssuedCsv.as_view()),
    path("invoices/<uuid:invoice_id>/pay", PayInvoice.as_view()),
    path("invoices/<uuid:invoice_id>/void", VoidInvoice.as_view()),
    path("invoices/<uuid:invoice_id>/write-off", WriteOffInvoice.as_view()),
    path("credit-notes", CreditNotes.as_view()),
    path("credit-notes/<uuid:note_id>", CreditNote.as_view()),
    path("credit-notes/<uuid:note_id>.pdf", CreditNotePdf.as_view()),
    path("payments", Payments.as_view()),
    path("seller", Seller.as_view()),
    path("billing-profiles", BillingProfiles.as_view()),
    path("credit-grants", CreditGrants.as_view()),
    path("ledger-accounts", LedgerAccounts.as_view()),
    path("ledger-entries", LedgerEntries.as_view()),
    path("statements", Statements.as_view()),
    path("invoices/<str:month>.csv", InvoiceCsv.as_view()),
    path("invoices/<str:month>/lines", InvoiceLines.as_view()),
    path("invoices/<str:month>", Invoice.as_view()),
    path("skus", Skus.as_view()),
    path("skus/<uuid:sku_id>", Sku.as_view()),
    path("price-books", PriceBooks.as_view()),
    path("price-books/<uuid:book_id>", PriceBook.as_view()),
]
