"""Who sells and who is billed: new versions, never a change of an old one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model

from billing.models import BillingProfile, Seller, TaxRate
from billing.permissions import authorize_money, authorize_profile
from core import audit
from core.errors import Conflict, FieldError, Invalid
from core.types import Actor, Json
from tenants.selectors import organization_by_id

if TYPE_CHECKING:
    from tenants.models import Organization


@dataclass(frozen=True, slots=True)
class SellerFacts:
    legal_name: str
    street: str
    postcode: str
    city: str
    country: str
    tax_id: str
    registration: str = ""
    email: str = ""
    bank_name: str = ""
    iban: str = ""
    bic: str = ""
    second_person_above: Decimal = Decimal(1000)


@dataclass(frozen=True, slots=True)
class ProfileFacts:
    """What may be said later can be empty: nothing is issued until it is complete."""

    legal_name: str = ""
    street: str = ""
    postcode: str = ""
    city: str = ""
    country: str = ""
    tax_status: str = "business"
    tax_id: str = ""
    terms_days: int = 14
    purchase_order: str = ""
    recipients: Sequence[str] = field(default_factory=tuple)
    language: str = "en"


@transaction.atomic
def set_seller(*, actor: Actor, facts: SellerFacts, valid_from: datetime, now: datetime) -> Seller:
    """A version of the platform's own company. Runs in the platform's scope."""
    authorize_money(actor)
    made = Seller(valid_from=valid_from, **asdict(facts))
    _checked(made)
    made.save(force_insert=True)
    audit.record(actor, "seller.set", made.ref, now=now, after={"valid_from": valid_from.isoformat()})
    return made


@transaction.atomic
def set_tax_rate(*, actor: Actor, country: str, rate: Decimal, valid_from: datetime, now: datetime) -> TaxRate:
    """A country's standard rate from an instant on. Runs in the platform's scope."""
    authorize_money(actor)
    made = TaxRate(country=country, rate=rate, valid_from=valid_from)
    _checked(made)
    made.save(force_insert=True)
    after: Mapping[str, Json] = {"rate": str(rate), "valid_from": valid_from.isoformat()}
    audit.record(actor, "tax_rate.set", made.ref, now=now, after=after)
    return made


@transaction.atomic
def set_profile(*, actor: Actor, organization: Organization, facts: ProfileFacts, now: datetime) -> BillingProfile:
    """A new version from now on. What was issued keeps the version that it was issued with."""
    authorize_profile(actor, organization_by_id(organization.pk))
    words = {**asdict(facts), "recipients": list(facts.recipients)}
    made = BillingProfile(organization_id=organization.pk, valid_from=now, **words)
    _checked(made)
    newest = BillingProfile.objects.filter(organization_id=organization.pk).order_by("-valid_from").first()
    if newest is not None and newest.valid_from >= now:
        raise Conflict("A version from this instant on stands already.", code="version_exists")
    made.save(force_insert=True)
    told: Mapping[str, Json] = {"country": facts.country, "terms_days": facts.terms_days, "language": facts.language}
    audit.record(actor, "billing_profile.set", made.ref, now=now, after=told)
    return made


def _checked(row: Model) -> None:
    """Raises Invalid, a field error for each field."""
    try:
        row.full_clean(exclude=["organization"], validate_constraints=False)
    except ValidationError as error:
        raise Invalid(
            [FieldError(name, "invalid", " ".join(messages)) for name, messages in sorted(error.message_dict.items())]
        ) from None
