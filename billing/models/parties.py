"""Who sells and who is billed. A row is a version: it holds from `valid_from` until the next one does. Insert-only."""

from __future__ import annotations

from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from billing.enums import Language, TaxStatus
from core.models import ScopedManager, TenantModel, UUIDModel
from core.types import ObjectRef


class Seller(UUIDModel):
    """The platform's own company. `second_person_above`: credits and write-offs above it need another's agreement."""

    valid_from = models.DateTimeField(unique=True)
    legal_name = models.CharField(max_length=200, blank=True)
    street = models.CharField(max_length=200, blank=True)
    postcode = models.CharField(max_length=20, blank=True)
    city = models.CharField(max_length=100, blank=True)
    country = models.CharField(max_length=2, blank=True)
    tax_id = models.CharField(max_length=40, blank=True)
    registration = models.CharField(max_length=120, blank=True)
    email = models.EmailField(blank=True)
    bank_name = models.CharField(max_length=120, blank=True)
    iban = models.CharField(max_length=34, blank=True)
    bic = models.CharField(max_length=11, blank=True)
    second_person_above = models.DecimalField(max_digits=20, decimal_places=3, default=1000)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("seller", str(self.pk), self.legal_name)


class TaxRate(UUIDModel):
    """The standard rate of a country from an instant on, as a fraction of one."""

    country = models.CharField(max_length=2)
    rate = models.DecimalField(max_digits=6, decimal_places=5)
    valid_from = models.DateTimeField()

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["country", "valid_from"], name="tax_rate_once"),
            models.CheckConstraint(name="tax_rate_is_a_part", condition=Q(rate__gte=0, rate__lt=1)),
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("tax_rate", str(self.pk), self.country)


class BillingProfile(TenantModel):
    """Whom an organisation's invoices name, and where they go."""

    valid_from = models.DateTimeField()
    legal_name = models.CharField(max_length=200, blank=True)
    street = models.CharField(max_length=200, blank=True)
    postcode = models.CharField(max_length=20, blank=True)
    city = models.CharField(max_length=100, blank=True)
    country = models.CharField(max_length=2, blank=True)
    tax_status = models.CharField(max_length=10, choices=TaxStatus.choices, default=TaxStatus.BUSINESS)
    tax_id = models.CharField(max_length=40, blank=True)
    terms_days = models.PositiveSmallIntegerField(default=14)
    purchase_order = models.CharField(max_length=60, blank=True)
    recipients = ArrayField(models.EmailField(), default=list, blank=True)
    language = models.CharField(max_length=2, choices=Language.choices, default=Language.ENGLISH)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "valid_from"], name="billing_profile_version_once"),
            models.CheckConstraint(name="billing_profile_terms", condition=Q(terms_days__lte=120)),
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("billing_profile", str(self.pk), self.legal_name)
