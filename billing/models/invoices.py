"""Issued documents, frozen, and what is projected from them."""

from __future__ import annotations

from typing import ClassVar, Self

from django.db import models
from django.db.models import F, Q

from billing.enums import DocumentKind, InvoiceState, PaymentMethod
from core.models import ScopedManager, TenantModel
from core.types import ObjectRef


class InvoiceSeries(TenantModel):
    """Numbers without a gap, and the end of the chain. Its row is locked last, in the transaction that issues."""

    kind = models.CharField(max_length=12, choices=DocumentKind.choices)
    prefix = models.CharField(max_length=60)
    last_sequence = models.PositiveIntegerField(default=0)
    last_hash = models.CharField(max_length=64)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organization", "kind"], name="invoice_series_once")]


class InvoiceDocument(TenantModel):
    """An invoice or a credit note. Insert-only: `body` is the canonical JSON of all that it depends on.

    `corrects`: the invoice that a note gives back of; `replaces`: the voided invoice that this one stands for.
    """

    kind = models.CharField(max_length=12, choices=DocumentKind.choices)
    series = models.ForeignKey(InvoiceSeries, on_delete=models.PROTECT, related_name="documents")
    sequence = models.PositiveIntegerField()
    number = models.CharField(max_length=80)
    period = models.ForeignKey("billing.BillingPeriod", on_delete=models.PROTECT, related_name="documents")
    corrects = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="notes")
    replaces = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="replacements")
    currency = models.CharField(max_length=3)
    net = models.DecimalField(max_digits=20, decimal_places=3)
    tax = models.DecimalField(max_digits=20, decimal_places=3)
    total = models.DecimalField(max_digits=20, decimal_places=3)
    issued_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True)
    body = models.TextField()
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)
    approval_id = models.UUIDField(null=True)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "number"], name="document_number_once"),
            models.UniqueConstraint(fields=["series", "sequence"], name="document_sequence_once"),
            models.UniqueConstraint(
                fields=["period"],
                name="document_one_invoice_a_period",
                condition=Q(kind=DocumentKind.INVOICE, replaces__isnull=True),
            ),
            models.UniqueConstraint(fields=["replaces"], name="document_replaced_once"),
            models.CheckConstraint(name="document_adds_up", condition=Q(total=F("net") + F("tax"))),
            models.CheckConstraint(
                name="document_note_corrects",
                condition=Q(kind=DocumentKind.INVOICE, corrects__isnull=True)
                | Q(kind=DocumentKind.CREDIT_NOTE, corrects__isnull=False),
            ),
        ]
        indexes = [models.Index(fields=["organization", "kind", "-id"], name="document_by_kind")]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef(self.kind, str(self.pk), self.number)


class InvoiceStanding(TenantModel):
    """Where an invoice stands: a projection of prepaid credit, payments, notes, write-offs and the due date.

    Its row is locked by every act on the invoice, so that a payment and the overdue sweep follow each other.
    """

    invoice = models.OneToOneField(InvoiceDocument, on_delete=models.PROTECT, related_name="standing")
    total = models.DecimalField(max_digits=20, decimal_places=3)
    settled = models.DecimalField(max_digits=20, decimal_places=3, default=0)
    credited = models.DecimalField(max_digits=20, decimal_places=3, default=0)
    written_off = models.DecimalField(max_digits=20, decimal_places=3, default=0)
    open = models.DecimalField(max_digits=20, decimal_places=3)
    voided = models.BooleanField(default=False)
    due_at = models.DateTimeField(null=True)
    state = models.CharField(max_length=14, choices=InvoiceState.choices)
    version = models.PositiveIntegerField(default=1)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="standing_open_not_negative", condition=Q(open__gte=0)),
            models.CheckConstraint(
                name="standing_overdue_is_open", condition=~Q(state=InvoiceState.OVERDUE) | Q(open__gt=0)
            ),
            models.CheckConstraint(name="standing_paid_is_settled", condition=~Q(state=InvoiceState.PAID) | Q(open=0)),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                name="standing_due",
                condition=Q(state__in=[InvoiceState.ISSUED, InvoiceState.PARTIALLY_PAID]),
            )
        ]


class Payment(TenantModel):
    """Money that came in for an invoice. `reference`: the bank's; the same transfer is marked once. Insert-only."""

    invoice = models.ForeignKey(InvoiceDocument, on_delete=models.PROTECT, related_name="payments")
    method = models.CharField(max_length=16, choices=PaymentMethod.choices)
    reference = models.CharField(max_length=120)
    amount = models.DecimalField(max_digits=20, decimal_places=3)
    currency = models.CharField(max_length=3)
    received_on = models.DateField()
    recorded_at = models.DateTimeField()

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "method", "reference"], name="payment_marked_once"),
            models.CheckConstraint(name="payment_of_something", condition=Q(amount__gt=0)),
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("payment", str(self.pk), self.reference)


class WriteOff(TenantModel):
    """What will not be paid any more. Insert-only."""

    invoice = models.ForeignKey(InvoiceDocument, on_delete=models.PROTECT, related_name="write_offs")
    amount = models.DecimalField(max_digits=20, decimal_places=3)
    reason = models.CharField(max_length=300)
    at = models.DateTimeField()
    approval_id = models.UUIDField(null=True)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [models.CheckConstraint(name="write_off_of_something", condition=Q(amount__gt=0))]


class InvoiceFile(TenantModel):
    """A document as a file (PDF, XML), made once from its frozen content. Insert-only."""

    document = models.ForeignKey(InvoiceDocument, on_delete=models.PROTECT, related_name="files")
    media_type = models.CharField(max_length=40)
    content = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    made_at = models.DateTimeField()

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["document", "media_type"], name="invoice_file_made_once")]


class InvoiceHold(TenantModel):
    """Why a month that is over has no invoice yet: every reason, as of the last try. It goes when one is issued."""

    period = models.OneToOneField("billing.BillingPeriod", on_delete=models.PROTECT, related_name="hold")
    reasons = models.JSONField()
    since = models.DateTimeField()
    tried_at = models.DateTimeField()

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()
