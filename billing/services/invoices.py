"""Issuing: one transaction per organisation takes the month's row, computes, draws on credit, numbers and freezes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction

from billing.enums import AccountKind, DocumentKind, GrantKind, PeriodState, TaxStatus
from billing.invoicing import document
from billing.invoicing.parties import missing
from billing.invoicing.taxes import tax_for
from billing.invoicing.totals import totals
from billing.invoicing.values import Party, Tax, Totals, Use
from billing.models import BillingPeriod, InvoiceDocument, InvoiceHold, UsageSession
from billing.permissions import authorize_money
from billing.selectors import draft_invoice
from billing.selectors.credits import usable
from billing.selectors.parties import party_of_profile, party_of_seller, profile_at, seller_at, tax_rates_at
from billing.services import documents, grants, ledger
from core import audit
from core.errors import NotFound, Refused
from core.types import Actor, Json, Reason, system_actor
from tenants.selectors import organization_by_id

if TYPE_CHECKING:
    from billing.types import DraftInvoice
    from tenants.models import Organization

GRACE = timedelta(days=3)
"""How long after its end a month waits for facts that are under way."""


@dataclass(frozen=True, slots=True)
class Parties:
    """Who is named, and which tax follows from it."""

    seller: Party
    buyer: Party
    tax: Tax
    language: str
    terms_days: int


@transaction.atomic
def issue(*, actor: Actor, organization_id: UUID, month: str, now: datetime) -> InvoiceDocument | None:
    """Close the month and issue its invoice, once: asked again, it gives the same one. A month without anything to
    bill is closed without an invoice (None). Raises Refused with every reason, and then nothing has happened."""
    authorize_money(actor)
    period = BillingPeriod.objects.select_for_update().filter(organization_id=organization_id, name=month).first()
    if period is None:
        raise NotFound("month", month)
    ledger.serialise(organization_id)
    if period.state == PeriodState.CLOSED:
        return InvoiceDocument.objects.filter(period=period, kind=DocumentKind.INVOICE, replaces=None).first()
    organization = organization_by_id(organization_id)
    _refuse_too_early(period, organization, now)
    draft = draft_invoice(system_actor("invoicing", organization_id), month, now)
    period.state = PeriodState.CLOSED
    period.save(update_fields=["state"])
    InvoiceHold.objects.filter(period=period).delete()
    if not draft.lines:
        audit.record(actor, "billing_period.closed", period.ref, now=now, after={"lines": 0})
        return None
    found = parties_for(organization_id, period, now)
    made = write_invoice(organization, period, found, draft, now=now)
    audit.record(actor, "invoice.issued", made.ref, now=now, after=told(made))
    return made


def write_invoice(
    organization: Organization, period: BillingPeriod, found: Parties, draft: DraftInvoice, *, now: datetime
) -> InvoiceDocument:
    """The document, its standing and its postings, for an act that records itself."""
    amounts = totals(
        draft.subtotal.amount,
        rate=found.tax.rate,
        currency=period.currency,
        promotions=usable(organization.pk, GrantKind.PROMOTIONAL, period.currency),
        prepaid=usable(organization.pk, GrantKind.PREPAID, period.currency),
        period_end=period.end,
        now=now,
    )
    made = documents.freeze(
        documents.Draft(
            kind=DocumentKind.INVOICE,
            period=period,
            prefix=organization.slug.upper(),
            language=found.language,
            seller=found.seller,
            buyer=found.buyer,
            tax=found.tax,
            net=amounts.net,
            tax_amount=amounts.tax,
            terms_days=found.terms_days,
        ),
        lambda heading: document.invoice(heading, draft, amounts),
        now=now,
    )
    settle_new(made, amounts, now=now)
    return made


def settle_new(made: InvoiceDocument, amounts: Totals, *, now: datetime) -> None:
    """Draw on the credit, post, and let it stand."""
    grants.use(made, (*amounts.promotions, *amounts.prepaid), at=now)
    documents.stand(made, settled=_sum(amounts.prepaid), now=now)
    promotions, prepaid = _sum(amounts.promotions), _sum(amounts.prepaid)
    ledger.post(
        organization_id=made.organization_id,
        key=f"invoice/{made.number}",
        currency=made.currency,
        amounts={
            AccountKind.RECEIVABLE: amounts.total - prepaid,
            AccountKind.WALLET: prepaid,
            AccountKind.REVENUE: -amounts.net,
            AccountKind.TAX: -amounts.tax,
            AccountKind.PROMOTIONS: promotions,
            AccountKind.PROMOTION_COST: -promotions,
        },
        at=now,
    )


def parties_for(organization_id: UUID, period: BillingPeriod, now: datetime) -> Parties:
    """Seller and buyer as of now, the tax as of the month's end. Raises Refused: a reason for each missing field."""
    seller, profile = seller_at(now), profile_at(organization_id, now)
    named = party_of_seller(seller) if seller else None
    buyer = party_of_profile(profile) if profile else None
    needs_tax_id = profile is not None and profile.tax_status == TaxStatus.EXEMPT
    reasons = missing(named, buyer, buyer_needs_tax_id=needs_tax_id)
    if reasons or named is None or buyer is None or profile is None:
        raise Refused(reasons, ref=period.ref, code="not_complete")
    tax = tax_for(
        seller_country=named.address.country,
        buyer_country=buyer.address.country,
        status=profile.tax_status,
        buyer_tax_id=buyer.tax_id,
        rates=tax_rates_at(period.end),
    )
    if tax is None:
        words = f"No tax rate of {buyer.address.country} was in force at the end of {period.name}."
        reason = Reason(code="tax_rate_missing", message=words, ask="the platform's finance")
        raise Refused([reason], ref=period.ref, code="not_complete")
    return Parties(named, buyer, tax, profile.language, profile.terms_days)


def told(made: InvoiceDocument) -> dict[str, Json]:
    """What the audit chain keeps of a document."""
    return {
        "number": made.number,
        "total": str(made.total),
        "currency": made.currency,
        "hash": made.hash,
        "previous_hash": made.previous_hash,
    }


def _refuse_too_early(period: BillingPeriod, organization: Organization, now: datetime) -> None:
    """A month is issued after its grace; the last one of a closed organisation as soon as nothing is held any more."""
    ready_at = period.end + GRACE
    if now >= ready_at:
        return
    if organization.closed_at is None:
        words = f"{period.name} takes facts until {ready_at:%Y-%m-%d %H:%M} UTC."
        raise Refused([Reason(code="grace_window", message=words)], ref=period.ref, code="too_early")
    held = UsageSession.objects.filter(organization_id=organization.pk, during__upper_inf=True).count()
    if held:
        words = "Something is still held. The last invoice follows when it has been given back."
        raise Refused([Reason(code="still_held", message=words, used=held)], ref=period.ref, code="too_early")


def _sum(uses: tuple[Use, ...]) -> Decimal:
    return sum((use.amount for use in uses), Decimal(0))
