"""The ledger: append-only, zero-sum per transaction and currency. A debit is positive, a credit negative."""

from __future__ import annotations

from typing import ClassVar, Self

from django.db import models
from django.db.models import Q

from billing.enums import AccountKind, GrantKind, UseKind
from core.models import ScopedManager, TenantModel
from core.types import ObjectRef


class LedgerAccount(TenantModel):
    """One account of an organisation's. `balance` is a projection of its entries, kept in their transaction."""

    kind = models.CharField(max_length=16, choices=AccountKind.choices)
    currency = models.CharField(max_length=3)
    balance = models.DecimalField(max_digits=20, decimal_places=3, default=0)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "kind", "currency"], name="ledger_account_once"),
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("ledger_account", str(self.pk), f"{self.kind} {self.currency}")


class LedgerTransaction(TenantModel):
    """Entries that belong together. `key`: what they are about; the same is posted once. Insert-only."""

    key = models.CharField(max_length=120)
    at = models.DateTimeField()

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organization", "key"], name="ledger_transaction_once")]


class LedgerEntry(TenantModel):
    """An amount on one account. Insert-only."""

    transaction = models.ForeignKey(LedgerTransaction, on_delete=models.PROTECT, related_name="entries")
    account = models.ForeignKey(LedgerAccount, on_delete=models.PROTECT, related_name="entries")
    currency = models.CharField(max_length=3)
    amount = models.DecimalField(max_digits=20, decimal_places=3)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [models.CheckConstraint(name="ledger_entry_of_something", condition=~Q(amount=0))]
        indexes = [models.Index(fields=["organization", "account", "-id"], name="ledger_entry_by_account")]


class CreditGrant(TenantModel):
    """Credit that an organisation was given (promotional) or has bought (prepaid). Insert-only.

    What is left of it is its amount less its uses. `key`: what it was given for; the same is given once.
    """

    key = models.CharField(max_length=120)
    kind = models.CharField(max_length=12, choices=GrantKind.choices)
    label = models.CharField(max_length=120)
    amount = models.DecimalField(max_digits=20, decimal_places=3)
    currency = models.CharField(max_length=3)
    granted_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    approval_id = models.UUIDField(null=True)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "key"], name="credit_grant_once"),
            models.CheckConstraint(name="credit_grant_of_something", condition=Q(amount__gt=0)),
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("credit_grant", str(self.pk), self.label)


class CreditUse(TenantModel):
    """A part of a grant that went into a document, lapsed, or (negative) came back. Insert-only."""

    grant = models.ForeignKey(CreditGrant, on_delete=models.PROTECT, related_name="uses")
    document = models.ForeignKey("billing.InvoiceDocument", on_delete=models.PROTECT, null=True, related_name="uses")
    kind = models.CharField(max_length=10, choices=UseKind.choices)
    amount = models.DecimalField(max_digits=20, decimal_places=3)
    at = models.DateTimeField()

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="credit_use_signed",
                condition=(Q(kind=UseKind.RETURNED) & Q(amount__lt=0)) | (~Q(kind=UseKind.RETURNED) & Q(amount__gt=0)),
            ),
            models.UniqueConstraint(fields=["grant"], name="credit_expires_once", condition=Q(kind=UseKind.EXPIRED)),
        ]
