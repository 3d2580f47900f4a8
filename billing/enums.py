"""The words of billing, as they stand in the database and the API."""

from __future__ import annotations

from enum import StrEnum

from django.db import models


class SkuKind(models.TextChoices):
    """How a SKU's quantity comes about: held over time, or counted one by one."""

    SESSION = "session"
    EVENT = "event"


class Unit(models.TextChoices):
    """What one unit price pays for. `hour`: one device for an hour; `gib_hour`: one GiB for an hour."""

    HOUR = "hour"
    GIB_HOUR = "gib_hour"
    EACH = "each"


class Component(models.TextChoices):
    """The part of a workload that a usage session weighs."""

    ACCELERATOR = "accelerator"
    COMPUTE = "compute"
    DISK = "disk"


class PeriodState(models.TextChoices):
    OPEN = "open"
    CLOSED = "closed"


class AccountKind(models.TextChoices):
    """The accounts of an organisation's ledger. A debit is positive, a credit negative."""

    RECEIVABLE = "receivable"
    BANK = "bank"
    REVENUE = "revenue"
    TAX = "tax"
    WALLET = "wallet"
    BREAKAGE = "breakage", "Lapsed prepaid credit"
    PROMOTIONS = "promotions"
    PROMOTION_COST = "promotion_cost"
    WRITE_OFF = "write_off"


class GrantKind(models.TextChoices):
    """`promotional` reduces what is taxed; `prepaid` pays what is due, tax included."""

    PROMOTIONAL = "promotional"
    PREPAID = "prepaid"


class UseKind(models.TextChoices):
    """What became of a part of a grant: it went into an invoice, lapsed, or came back when the invoice was voided."""

    USED = "used"
    EXPIRED = "expired"
    RETURNED = "returned"


class TaxStatus(models.TextChoices):
    """What a buyer is to the tax office."""

    BUSINESS = "business"
    CONSUMER = "consumer"
    EXEMPT = "exempt"


class TaxCategory(models.TextChoices):
    """The codes of EN 16931 (UNTDID 5305)."""

    STANDARD = "S"
    REVERSE_CHARGE = "AE"
    EXEMPT = "E"
    OUTSIDE = "O"


class DocumentKind(models.TextChoices):
    INVOICE = "invoice"
    CREDIT_NOTE = "credit_note"


class InvoiceState(models.TextChoices):
    """A projection of payments, notes, write-offs and the due date. A month before its invoice is a draft."""

    DRAFT = "draft"
    ISSUED = "issued"
    PARTIALLY_PAID = "partially_paid"
    PAID = "paid"
    OVERDUE = "overdue"
    VOID = "void"
    CREDITED = "credited"
    WRITTEN_OFF = "written_off"


class PaymentMethod(models.TextChoices):
    BANK_TRANSFER = "bank_transfer"


class Language(models.TextChoices):
    ENGLISH = "en", "English"
    GERMAN = "de", "Deutsch"


class MediaType(models.TextChoices):
    PDF = "application/pdf"
    XML = "application/xml"


class TaskName(StrEnum):
    RUN_INVOICES = "billing.run_invoices"
    SWEEP_INVOICES = "billing.sweep_invoices"
    APPROVAL_SETTLED = "billing.approval_settled"


class CostGroup(models.TextChoices):
    """What costs can be summed by."""

    ORGANIZATION = "organization"
    PROJECT = "project"
    USER = "user"
    WORKLOAD = "workload"
