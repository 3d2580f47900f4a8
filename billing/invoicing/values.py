"""What a document is made of, frozen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from billing.enums import TaxCategory
from core.types import Json


@dataclass(frozen=True, slots=True)
class Address:
    street: str
    postcode: str
    city: str
    country: str
    """ISO 3166-1, two letters."""

    def as_json(self) -> dict[str, Json]:
        return {"street": self.street, "postcode": self.postcode, "city": self.city, "country": self.country}


@dataclass(frozen=True, slots=True)
class Party:
    """A seller or a buyer as a document names it."""

    legal_name: str
    address: Address
    tax_id: str
    email: str = ""
    registration: str = ""
    bank_name: str = ""
    iban: str = ""
    bic: str = ""
    purchase_order: str = ""

    def as_json(self) -> dict[str, Json]:
        return {
            "legal_name": self.legal_name,
            "address": self.address.as_json(),
            "tax_id": self.tax_id,
            "email": self.email,
            "registration": self.registration,
            "bank_name": self.bank_name,
            "iban": self.iban,
            "bic": self.bic,
            "purchase_order": self.purchase_order,
        }


@dataclass(frozen=True, slots=True)
class Tax:
    """The tax of a whole document. `note`: why there is none, by code."""

    category: TaxCategory
    rate: Decimal
    note: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """A credit that may still be used, and how much of it is left."""

    id: UUID
    label: str
    left: Decimal
    expires_at: datetime | None
    granted_at: datetime


@dataclass(frozen=True, slots=True)
class Use:
    """A part of a grant that goes into a document."""

    grant: UUID
    label: str
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Totals:
    """subtotal − promotions = net; net + tax = total; total − prepaid = due."""

    subtotal: Decimal
    promotions: tuple[Use, ...]
    net: Decimal
    tax: Decimal
    total: Decimal
    prepaid: tuple[Use, ...]
    due: Decimal


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands above a document's lines, dates in the organisation's time zone."""

    number: str
    issued_at: datetime
    issued_on: date
    due_on: date | None
    time_zone: str
    language: str
    currency: str
    seller: Party
    buyer: Party
    tax: Tax
    previous_hash: str
