"""Errors of billing."""

from __future__ import annotations

from core.errors import Conflict
from core.types import ObjectRef


class NotPriced(Conflict):
    """A SKU has no price in a currency at an instant, so nothing may be held on it."""

    code = "not_priced"

    def __init__(self, sku_code: str, currency: str) -> None:
        super().__init__(f"{sku_code} has no price in {currency} at that time. Publish one first.")
        self.ref = ObjectRef(kind="sku", id=sku_code, label=sku_code)


class PriceInThePast(Conflict):
    """A price that replaces another must be announced: what was used has been priced already."""

    code = "price_in_the_past"

    def __init__(self, sku_code: str) -> None:
        super().__init__(
            f"{sku_code} has a price already. A new one starts in the future, after the last one; "
            "correct the past with an adjustment."
        )
        self.ref = ObjectRef(kind="sku", id=sku_code, label=sku_code)
