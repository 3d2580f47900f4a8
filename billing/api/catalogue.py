"""What is sold and at which price."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from billing.api import outputs
from billing.api.inputs import BookFilters, SkuFilters
from billing.api.outputs import PriceBookOutput, SkuOutput
from billing.models import Sku as SkuRow
from billing.selectors import price_books, prices_at, skus
from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import NotFound
from core.routes import AUTHENTICATED, route
from tenants.selectors import organization_of

_SKU = {
    "id": "0199aa00-0000-7000-8000-000000000011",
    "code": "gpu-hour/h100/on-demand",
    "kind": "session",
    "unit": "hour",
    "label": "H100, on demand",
    "unit_price": {"amount": "3.1", "currency": "USD"},
}
_BOOK = {
    "id": "0199aa00-0000-7000-8000-000000000012",
    "currency": "USD",
    "version": 1,
    "valid_from": "2026-01-01T00:00:00Z",
    "prices": [
        {
            "sku": "gpu-hour/h100/on-demand",
            "unit_price": {"amount": "3.1", "currency": "USD"},
            "valid_from": "2026-01-01T00:00:00Z",
            "valid_to": None,
        }
    ],
}


class Skus(Endpoint):
    @route(permission=AUTHENTICATED, verb="sku.listed")
    @shape(summary="List SKUs", output=SkuOutput, filters=SkuFilters, listed=True, example=_SKU)
    def get(self, request: Request) -> HttpResponse:
        """Everything that is sold, with its price in your currency."""
        asked = self.filters(SkuFilters)
        rows = skus().filter(kind=asked.kind) if asked.kind else skus()
        return self.page(rows, self._present)

    def _present(self, rows: Sequence[SkuRow]) -> list[object]:
        currency = organization_of(self.actor).currency
        rates = prices_at([row.code for row in rows], self.moment, currency)
        return [outputs.sku(row, rates.get(row.code)) for row in rows]


class Sku(Skus):
    @route(permission=AUTHENTICATED, verb="sku.viewed")
    @shape(summary="Show a SKU", output=SkuOutput, example=_SKU)
    def get(self, request: Request, sku_id: UUID) -> HttpResponse:  # type: ignore[override]
        found = skus().filter(pk=sku_id).first()
        if found is None:
            raise NotFound("sku", sku_id)
        return self.answer(self._present([found])[0])


class PriceBooks(Endpoint):
    @route(permission=AUTHENTICATED, verb="price_book.listed")
    @shape(summary="List price books", output=PriceBookOutput, filters=BookFilters, listed=True, example=_BOOK)
    def get(self, request: Request) -> HttpResponse:
        """Every published version with the prices that it brought. A version never changes."""
        asked = self.filters(BookFilters)
        rows = price_books().filter(currency=asked.currency) if asked.currency else price_books()
        return self.page(rows, lambda found: [outputs.price_book(row) for row in found])


class PriceBook(Endpoint):
    @route(permission=AUTHENTICATED, verb="price_book.viewed")
    @shape(summary="Show a price book", output=PriceBookOutput, example=_BOOK)
    def get(self, request: Request, book_id: UUID) -> HttpResponse:
        found = price_books().filter(pk=book_id).first()
        if found is None:
            raise NotFound("price_book", book_id)
        return self.answer(outputs.price_book(found))
