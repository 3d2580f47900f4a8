"""Tables of billing."""

from billing.models.catalogue import Price, PriceBook, Sku
from billing.models.invoices import (
    InvoiceDocument,
    InvoiceFile,
    InvoiceHold,
    InvoiceSeries,
    InvoiceStanding,
    Payment,
    WriteOff,
)
from billing.models.ledger import CreditGrant, CreditUse, LedgerAccount, LedgerEntry, LedgerTransaction
from billing.models.parties import BillingProfile, Seller, TaxRate
from billing.models.usage import BillingPeriod, UsageSession

__all__ = [
    "BillingPeriod",
    "BillingProfile",
    "CreditGrant",
    "CreditUse",
    "InvoiceDocument",
    "InvoiceFile",
    "InvoiceHold",
    "InvoiceSeries",
    "InvoiceStanding",
    "LedgerAccount",
    "LedgerEntry",
    "LedgerTransaction",
    "Payment",
    "Price",
    "PriceBook",
    "Seller",
    "Sku",
    "TaxRate",
    "UsageSession",
    "WriteOff",
]
