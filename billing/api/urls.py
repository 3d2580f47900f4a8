"""Addresses of billing."""

from __future__ import annotations

from django.urls import path

from billing.api.catalogue import PriceBook, PriceBooks, Sku, Skus
from billing.api.invoices import Invoice, InvoiceCsv, InvoiceLines, Invoices
from billing.api.usage import Costs, UsageSession, UsageSessions

urlpatterns = [
    path("usage-sessions", UsageSessions.as_view()),
    path("usage-sessions/<uuid:session_id>", UsageSession.as_view()),
    path("costs", Costs.as_view()),
    path("invoices", Invoices.as_view()),
    path("invoices/<str:month>.csv", InvoiceCsv.as_view()),
    path("invoices/<str:month>/lines", InvoiceLines.as_view()),
    path("invoices/<str:month>", Invoice.as_view()),
    path("skus", Skus.as_view()),
    path("skus/<uuid:sku_id>", Sku.as_view()),
    path("price-books", PriceBooks.as_view()),
    path("price-books/<uuid:book_id>", PriceBook.as_view()),
]
