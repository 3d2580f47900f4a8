"""What the API gives about documents, credit and parties."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from rest_framework import serializers

from billing.enums import (
    AccountKind,
    DocumentKind,
    GrantKind,
    InvoiceState,
    Language,
    PaymentMethod,
    TaxStatus,
    Unit,
)
from billing.invoicing import document
from billing.models import BillingProfile, CreditGrant, InvoiceDocument, LedgerAccount, LedgerEntry, Payment, Seller
from billing.selectors.documents import content_of
from billing.selectors.statements import Statement
from core.api.fields import MoneyOutput
from core.money import Money, minor_digits
from core.types import Json


class InvoiceSummaryOutput(serializers.Serializer[object]):
    """A document, or a month that is none yet."""

    id = serializers.CharField(help_text="A draft is known by its month.")
    number = serializers.CharField(allow_null=True, help_text="Drafts have none.")
    state = serializers.ChoiceField(InvoiceState.choices)
    period = serializers.CharField()
    total = MoneyOutput(allow_null=True)
    open = MoneyOutput(allow_null=True, help_text="What is still to be paid.")
    issued_at = serializers.DateTimeField(allow_null=True)
    due_at = serializers.DateTimeField(allow_null=True)


class UseOutput(serializers.Serializer[object]):
    grant = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]
    amount = MoneyOutput()


class TaxOutput(serializers.Serializer[object]):
    category = serializers.CharField(help_text="EN 16931: S, AE, E or O.")
    rate = serializers.CharField()
    note = serializers.CharField(allow_blank=True)
    amount = MoneyOutput()


class IssuedInvoiceOutput(InvoiceSummaryOutput):
    subtotal = MoneyOutput()
    promotions = UseOutput(many=True)
    net = MoneyOutput()
    tax = TaxOutput()
    prepaid = UseOutput(many=True)
    due = MoneyOutput(help_text="When it was issued.")
    replaces = serializers.CharField(allow_blank=True, help_text="The number of the voided invoice.")
    notes = serializers.ListField(child=serializers.CharField(), help_text="Numbers of its credit notes.")
    hash = serializers.CharField()
    previous_hash = serializers.CharField()


class CreditNoteOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    number = serializers.CharField()
    kind = serializers.ChoiceField([DocumentKind.CREDIT_NOTE.value])
    invoice = serializers.CharField(help_text="The number of the invoice that it corrects.")
    reason = serializers.CharField()
    net = MoneyOutput()
    tax = TaxOutput()
    total = MoneyOutput()
    issued_at = serializers.DateTimeField()
    hash = serializers.CharField()
    previous_hash = serializers.CharField()


class IssuedLineOutput(serializers.Serializer[object]):
    position = serializers.IntegerField()
    project = serializers.CharField()
    project_id = serializers.CharField(allow_blank=True)
    sku = serializers.CharField()
    description = serializers.CharField()
    unit = serializers.ChoiceField(Unit.choices)
    quantity = serializers.CharField()
    quantity_exact = serializers.CharField(help_text="A fraction.")
    unit_price = serializers.CharField()
    price_from = serializers.DateTimeField()
    late = serializers.BooleanField()
    exact = serializers.CharField(help_text="The amount before it was settled, a fraction.")
    amount = MoneyOutput()
    net = MoneyOutput(help_text="After the line's share of the promotions.")


class PaymentOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    invoice = serializers.CharField(help_text="Its number.")
    method = serializers.ChoiceField(PaymentMethod.choices)
    reference = serializers.CharField()
    amount = MoneyOutput()
    received_on = serializers.DateField()
    recorded_at = serializers.DateTimeField()


class GrantOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    kind = serializers.ChoiceField(GrantKind.choices)
    key = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    amount = MoneyOutput()
    left = MoneyOutput()
    granted_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)


class ProfileOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    valid_from = serializers.DateTimeField()
    legal_name = serializers.CharField()
    street = serializers.CharField()
    postcode = serializers.CharField()
    city = serializers.CharField()
    country = serializers.CharField()
    tax_status = serializers.ChoiceField(TaxStatus.choices)
    tax_id = serializers.CharField()
    terms_days = serializers.IntegerField()
    purchase_order = serializers.CharField()
    recipients = serializers.ListField(child=serializers.CharField())
    language = serializers.ChoiceField(Language.choices)


class SellerOutput(serializers.Serializer[object]):
    legal_name = serializers.CharField()
    street = serializers.CharField()
    postcode = serializers.CharField()
    city = serializers.CharField()
    country = serializers.CharField()
    tax_id = serializers.CharField()
    registration = serializers.CharField()
    email = serializers.CharField()
    bank_name = serializers.CharField()
    iban = serializers.CharField()
    bic = serializers.CharField()
    valid_from = serializers.DateTimeField()


class AccountOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    kind = serializers.ChoiceField(AccountKind.choices)
    balance = MoneyOutput(help_text="A debit is positive.")


class EntryOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    transaction = serializers.UUIDField()
    about = serializers.CharField(help_text="What its transaction is about; the entries of one sum to zero.")
    account = serializers.ChoiceField(AccountKind.choices)
    amount = MoneyOutput()
    at = serializers.DateTimeField()


class MovementOutput(serializers.Serializer[object]):
    at = serializers.DateTimeField()
    kind = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    amount = MoneyOutput()
    balance = MoneyOutput()


class StatementOutput(serializers.Serializer[object]):
    movements = MovementOutput(many=True)
    balance = MoneyOutput(help_text="What is open.")
    wallet = MoneyOutput(help_text="Prepaid credit that is left.")
    promotions = MoneyOutput(help_text="Promotional credit that is left.")


def summary(row: InvoiceDocument) -> dict[str, object]:
    return {
        "id": row.pk,
        "number": row.number,
        "state": row.standing.state,
        "period": row.period.name,
        "total": money(row.total, row.currency),
        "open": money(row.standing.open, row.currency),
        "issued_at": row.issued_at,
        "due_at": row.due_at,
    }


def issued_invoice(row: InvoiceDocument, notes: list[str]) -> dict[str, object]:
    said = content_of(row)
    return {
        **summary(row),
        **{name: _worth(said[name], row.currency) for name in ("subtotal", "net", "due")},
        "promotions": _uses(said["promotions"], row.currency),
        "prepaid": _uses(said["prepaid"], row.currency),
        "tax": _tax(said, row.currency),
        "replaces": said["replaces"],
        "notes": notes,
        "hash": row.hash,
        "previous_hash": row.previous_hash,
    }


def credit_note(row: InvoiceDocument) -> dict[str, object]:
    said = content_of(row)
    return {
        "id": row.pk,
        "number": row.number,
        "kind": row.kind,
        "invoice": said["corrects"],
        "reason": said["reason"],
        "net": _worth(said["net"], row.currency),
        "tax": _tax(said, row.currency),
        "total": _worth(said["total"], row.currency),
        "issued_at": row.issued_at,
        "hash": row.hash,
        "previous_hash": row.previous_hash,
    }


def lines(row: InvoiceDocument) -> list[dict[str, object]]:
    kept = set(IssuedLineOutput().fields) - {"amount", "net"}
    return [
        {
            **{name: line[name] for name in sorted(kept)},
            "amount": _worth(line["amount"], row.currency),
            "net": _worth(line["net"], row.currency),
        }
        for line in document.lines_of(content_of(row))
    ]


def payment(row: Payment) -> dict[str, object]:
    return {
        "id": row.pk,
        "invoice": row.invoice.number,
        "method": row.method,
        "reference": row.reference,
        "amount": money(row.amount, row.currency),
        "received_on": row.received_on,
        "recorded_at": row.recorded_at,
    }


def credit_grant(row: CreditGrant, left: Decimal) -> dict[str, object]:
    return {
        "id": row.pk,
        "kind": row.kind,
        "key": row.key,
        "label": row.label,
        "amount": money(row.amount, row.currency),
        "left": money(left, row.currency),
        "granted_at": row.granted_at,
        "expires_at": row.expires_at,
    }


def profile(row: BillingProfile) -> dict[str, object]:
    return {str(name): getattr(row, str(name)) for name in ProfileOutput().fields}


def seller(row: Seller) -> dict[str, object]:
    return {str(name): getattr(row, str(name)) for name in SellerOutput().fields}


def account(row: LedgerAccount) -> dict[str, object]:
    return {"id": row.pk, "kind": row.kind, "balance": money(row.balance, row.currency)}


def entry(row: LedgerEntry) -> dict[str, object]:
    return {
        "id": row.pk,
        "transaction": row.transaction_id,
        "about": row.transaction.key,
        "account": row.account.kind,
        "amount": money(row.amount, row.currency),
        "at": row.transaction.at,
    }


def statement(found: Statement) -> dict[str, object]:
    return {
        "movements": [
            {
                "at": each.at,
                "kind": each.kind,
                "label": each.label,
                "amount": money(each.amount, found.currency),
                "balance": money(each.balance, found.currency),
            }
            for each in found.movements
        ],
        "balance": money(found.balance, found.currency),
        "wallet": money(found.wallet, found.currency),
        "promotions": money(found.promotions, found.currency),
    }


def money(amount: Decimal, currency: str) -> Money:
    """As many digits as the currency has."""
    return Money(amount.quantize(Decimal(1).scaleb(-minor_digits(currency))), currency)


def _worth(amount: Json, currency: str) -> Money:
    return money(Decimal(str(amount)), currency)


def _uses(uses: Json, currency: str) -> list[dict[str, object]]:
    assert isinstance(uses, list)
    return [{**use, "amount": _worth(use["amount"], currency)} for use in uses if isinstance(use, Mapping)]


def _tax(said: dict[str, Json], currency: str) -> dict[str, object]:
    tax = document.part(said, "tax")
    return {**tax, "amount": _worth(tax["amount"], currency)}
