"""What is sold: the same for every organisation."""

from __future__ import annotations

from django.db.models import Prefetch, QuerySet

from billing.models import Price, PriceBook, Sku


def skus() -> QuerySet[Sku]:
    return Sku.objects.order_by("-id")


def price_books() -> QuerySet[PriceBook]:
    """Published versions with the prices that each brought."""
    prices = Price.objects.select_related("sku").order_by("sku__code")
    return PriceBook.objects.prefetch_related(Prefetch("prices", queryset=prices)).order_by("-id")
