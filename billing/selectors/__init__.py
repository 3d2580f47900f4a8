"""Questions about prices, usage and costs, always asked by an actor or inside a scope."""

from billing.selectors.catalogue import price_books, skus
from billing.selectors.costs import costs, month_to_date
from billing.selectors.invoices import draft_invoice, invoice_months
from billing.selectors.months import month_start
from billing.selectors.prices import hourly, price_of, prices_at
from billing.selectors.usage import between, session_costs, usage_sessions_visible_to
from billing.selectors.workloads import cost_so_far

__all__ = [
    "between",
    "cost_so_far",
    "costs",
    "draft_invoice",
    "hourly",
    "invoice_months",
    "month_start",
    "month_to_date",
    "price_books",
    "price_of",
    "prices_at",
    "session_costs",
    "skus",
    "usage_sessions_visible_to",
]
