"""What is sold and at which price. The catalogue is the platform's: organisations read it and write none of it."""

from __future__ import annotations

from typing import ClassVar, Self

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeBoundary, RangeOperators
from django.db import models
from django.db.models import F, Func, Q

from billing.enums import SkuKind, Unit
from core.models import ScopedManager, UUIDModel
from core.types import ObjectRef


class Sku(UUIDModel):
    """One thing that has a price."""

    code = models.CharField(max_length=80, unique=True)
    kind = models.CharField(max_length=10, choices=SkuKind.choices)
    unit = models.CharField(max_length=10, choices=Unit.choices)
    label = models.CharField(max_length=120)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    def __str__(self) -> str:
        return self.code

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("sku", str(self.pk), self.code)


class PriceBook(UUIDModel):
    """Prices of one currency that were published together."""

    currency = models.CharField(max_length=3)
    version = models.PositiveIntegerField()
    valid_from = models.DateTimeField()

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["currency", "version"], name="price_book_version_once")]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("price_book", str(self.pk), f"{self.currency} {self.version}")


class Price(UUIDModel):
    """The price of one unit of a SKU in [valid_from, valid_to). `valid_to` is set once, by the price that follows."""

    book = models.ForeignKey(PriceBook, on_delete=models.PROTECT, related_name="prices")
    sku = models.ForeignKey(Sku, on_delete=models.PROTECT, related_name="prices")
    currency = models.CharField(max_length=3)
    unit_price = models.DecimalField(max_digits=20, decimal_places=10)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="price_not_negative", condition=Q(unit_price__gte=0)),
            models.CheckConstraint(
                name="price_valid_for_some_time", condition=Q(valid_to__isnull=True) | Q(valid_to__gt=F("valid_from"))
            ),
            ExclusionConstraint(
                name="price_one_at_a_time",
                expressions=[
                    ("sku", RangeOperators.EQUAL),
                    ("currency", RangeOperators.EQUAL),
                    (
                        Func(
                            "valid_from",
                            "valid_to",
                            RangeBoundary(),
                            function="tstzrange",
                            output_field=DateTimeRangeField(),
                        ),
                        RangeOperators.OVERLAPS,
                    ),
                ],
            ),
        ]
