"""What the API takes about documents, credit and parties."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from rest_framework import serializers

from billing.enums import GrantKind, Language, TaxStatus
from billing.services.parties import ProfileFacts
from core.api.inputs import Flag, Input, Moment, Text, Whole

_AMOUNT = r"^\d{1,15}(\.\d{1,3})?\Z"


class Amount(serializers.RegexField):
    """A positive decimal number as text."""

    def __init__(self, **words: object) -> None:
        super().__init__(_AMOUNT, help_text="A decimal number as text, in the invoice's currency.", **words)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Issuing:
    month: str


class IssuingInput(Input[Issuing]):
    into = Issuing
    example = {"month": "2026-11"}

    month = serializers.RegexField(r"^\d{4}-\d{2}\Z")


@dataclass(frozen=True, slots=True)
class PaymentFacts:
    amount: str
    reference: str
    received_on: date


class PaymentInput(Input[PaymentFacts]):
    into = PaymentFacts
    example = {"amount": "9.30", "reference": "SEPA 2026-12-18 4711", "received_on": "2026-12-18"}

    amount = Amount()
    reference = Text(max_length=120, help_text="The bank's. The same transfer is marked once.")
    received_on = serializers.DateField()


@dataclass(frozen=True, slots=True)
class Voiding:
    reason: str
    replace: bool = False


class VoidingInput(Input[Voiding]):
    into = Voiding
    example = {"reason": "Wrong address.", "replace": True}

    reason = Text(max_length=300)
    replace = Flag(required=False, help_text="Bill the same lines anew, to the parties as they are now.")


@dataclass(frozen=True, slots=True)
class WritingOff:
    reason: str


class WritingOffInput(Input[WritingOff]):
    into = WritingOff
    example = {"reason": "Insolvent."}

    reason = Text(max_length=300)


class LineCreditInput(serializers.Serializer[object]):
    position = Whole(min_value=1)
    amount = Amount()


@dataclass(frozen=True, slots=True)
class Crediting:
    invoice: UUID
    lines: list[dict[str, object]]
    reason: str

    @property
    def credits(self) -> dict[int, Decimal]:
        return {int(str(line["position"])): Decimal(str(line["amount"])) for line in self.lines}


class CreditingInput(Input[Crediting]):
    into = Crediting
    example = {
        "invoice": "0199aa00-0000-7000-8000-000000000021",
        "lines": [{"position": 1, "amount": "3.10"}],
        "reason": "The node was broken for an hour.",
    }

    invoice = serializers.UUIDField()
    lines = LineCreditInput(many=True, allow_empty=False, help_text="Net amounts; the tax follows.")
    reason = Text(max_length=300)


@dataclass(frozen=True, slots=True)
class Granting:
    kind: str
    key: str
    label: str
    amount: str
    expires_at: datetime | None = None


class GrantingInput(Input[Granting]):
    into = Granting
    example = {"kind": "promotional", "key": "welcome/2026", "label": "Welcome", "amount": "50.00"}

    kind = serializers.ChoiceField(GrantKind.choices)
    key = Text(max_length=100, help_text="What it is given for. The same is given once.")
    label = Text(max_length=120)  # type: ignore[assignment]
    amount = Amount()
    expires_at = Moment(required=False)


class ProfileInput(Input[ProfileFacts]):
    into = ProfileFacts
    example = {
        "legal_name": "Aurora Research GmbH",
        "street": "Sternwartstraße 5",
        "postcode": "40223",
        "city": "Düsseldorf",
        "country": "DE",
        "tax_status": "business",
        "tax_id": "DE987654321",
        "terms_days": 14,
        "purchase_order": "PO-2026-77",
        "language": "de",
    }

    legal_name = Text(max_length=200)
    street = Text(max_length=200)
    postcode = Text(max_length=20)
    city = Text(max_length=100)
    country = serializers.RegexField(r"^[A-Z]{2}\Z", help_text="ISO 3166-1.")
    tax_status = serializers.ChoiceField(TaxStatus.choices, required=False)
    tax_id = Text(max_length=40, required=False, allow_blank=True)
    terms_days = Whole(min_value=0, max_value=120, required=False)
    purchase_order = Text(max_length=60, required=False, allow_blank=True)
    recipients = serializers.ListField(child=serializers.EmailField(), required=False, max_length=10)
    language = serializers.ChoiceField(Language.choices, required=False)
