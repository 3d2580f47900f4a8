"""Tables of billing."""

from billing.models.catalogue import Price, PriceBook, Sku
from billing.models.usage import BillingPeriod, UsageSession

__all__ = ["BillingPeriod", "Price", "PriceBook", "Sku", "UsageSession"]
