"""Whether two parties may be named on a document: every mandatory field that lacks is a reason of its own."""

from __future__ import annotations

import re

from billing.invoicing.values import Party
from core.types import Reason

_COUNTRY = re.compile(r"^[A-Z]{2}\Z")
_FIELDS = {
    "legal_name": "legal name",
    "street": "street",
    "postcode": "postcode",
    "city": "city",
    "country": "country",
    "tax_id": "tax number",
}


def missing(seller: Party | None, buyer: Party | None, *, buyer_needs_tax_id: bool) -> tuple[Reason, ...]:
    """One reason for each mandatory field that is empty, or one for a party that is not there at all."""
    return (
        *_of("seller", seller, "the platform's finance", tax_id=True),
        *_of("billing_profile", buyer, "the organisation's owner or billing", tax_id=buyer_needs_tax_id),
    )


def _of(whose: str, party: Party | None, ask: str, *, tax_id: bool) -> tuple[Reason, ...]:
    words = whose.replace("_", " ")
    if party is None:
        return (Reason(code=f"{whose}_missing", message=f"There is no {words} in force.", ask=ask),)
    values = {
        "legal_name": party.legal_name,
        "street": party.address.street,
        "postcode": party.address.postcode,
        "city": party.address.city,
        "country": party.address.country if _COUNTRY.match(party.address.country) else "",
        "tax_id": party.tax_id if tax_id else "not needed",
    }
    return tuple(
        Reason(code=f"{whose}_{name}_missing", message=f"The {words} lacks its {_FIELDS[name]}.", ask=ask)
        for name, value in values.items()
        if not value.strip()
    )
