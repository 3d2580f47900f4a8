"""Who sells, who is billed and at which rates, at an instant."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from billing.invoicing.values import Address, Party
from billing.models import BillingProfile, Seller, TaxRate
from core.types import Json


def seller_at(at: datetime) -> Seller | None:
    return Seller.objects.filter(valid_from__lte=at).order_by("-valid_from").first()


def profile_at(organization_id: UUID, at: datetime) -> BillingProfile | None:
    rows = BillingProfile.objects.filter(organization_id=organization_id, valid_from__lte=at)
    return rows.order_by("-valid_from").first()


def tax_rates_at(at: datetime) -> dict[str, Decimal]:
    """The standard rate in force by country."""
    rows = TaxRate.objects.filter(valid_from__lte=at).order_by("valid_from")
    return {row.country: row.rate for row in rows}


def party_of_seller(row: Seller) -> Party:
    return Party(
        legal_name=row.legal_name,
        address=Address(row.street, row.postcode, row.city, row.country),
        tax_id=row.tax_id,
        email=row.email,
        registration=row.registration,
        bank_name=row.bank_name,
        iban=row.iban,
        bic=row.bic,
    )


def party_of_profile(row: BillingProfile) -> Party:
    return Party(
        legal_name=row.legal_name,
        address=Address(row.street, row.postcode, row.city, row.country),
        tax_id=row.tax_id,
        email=row.recipients[0] if row.recipients else "",
        purchase_order=row.purchase_order,
    )


def party_from(frozen: dict[str, Json]) -> Party:
    """A party as an issued document names it."""
    address = frozen["address"]
    assert isinstance(address, dict)
    return Party(
        **{name: str(value) for name, value in frozen.items() if name != "address"},
        address=Address(**{name: str(value) for name, value in address.items()}),
    )
