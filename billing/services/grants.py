"""Credit: given or bought, used by invoices, lapsed. What it was given for is its key: the same is given once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from uuid import UUID

import structlog
from django.db import transaction

from billing.enums import AccountKind, GrantKind, PeriodState, UseKind
from billing.invoicing.values import Use
from billing.models import BillingPeriod, CreditGrant, CreditUse, InvoiceDocument
from billing.permissions import authorize_money
from billing.selectors.credits import due_to_lapse, left_by_grant
from billing.services import ledger, second_person
from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.errors import Conflict, FieldError, Invalid
from core.money import minor_digits
from core.types import Actor, system_actor
from tenants.selectors import organization_by_id

log = structlog.get_logger(__name__)


@transaction.atomic
def grant(
    *,
    actor: Actor,
    organization_id: UUID,
    kind: GrantKind,
    key: str,
    label: str,
    amount: Decimal,
    expires_at: datetime | None,
    now: datetime,
    granted_at: datetime | None = None,
    approval_id: UUID | None = None,
) -> CreditGrant | None:
    """Give promotional credit, or book prepaid credit that was paid for.

    The same key gives the same grant, once; with other content it is a Conflict. A promotion above the limit waits
    for a second person: None.
    """
    authorize_money(actor)
    organization = organization_by_id(organization_id)
    _refuse_nonsense(amount, organization.currency, key)
    ledger.serialise(organization_id)
    known = CreditGrant.objects.filter(organization_id=organization_id, key=key).first()
    if known is not None:
        return _same(known, kind, amount, expires_at)
    by_one = approval_id is None and not actor.is_system and kind == GrantKind.PROMOTIONAL
    if by_one and second_person.needed(amount, now):
        second_person.ask_for_grant(
            actor=actor, organization=organization, key=key, label=label, amount=amount, expires_at=expires_at, now=now
        )
        return None
    made = write(
        organization_id=organization_id,
        kind=kind,
        key=key,
        label=label,
        amount=amount,
        currency=organization.currency,
        granted_at=granted_at or now,
        expires_at=expires_at,
        approval_id=approval_id,
    )
    source = AccountKind.PROMOTION_COST if kind == GrantKind.PROMOTIONAL else AccountKind.BANK
    _post(made, f"grant/{key}", source, amount, now)
    after = {"kind": str(kind), "amount": str(amount), "currency": organization.currency}
    audit.record(actor, "credit.granted", made.ref, now=now, after=after)
    return made


def write(
    *,
    organization_id: UUID,
    kind: GrantKind,
    key: str,
    label: str,
    amount: Decimal,
    currency: str,
    granted_at: datetime,
    expires_at: datetime | None = None,
    approval_id: UUID | None = None,
) -> CreditGrant:
    """The row alone, for an act that records and posts itself."""
    return CreditGrant.objects.create(
        organization_id=organization_id,
        key=key,
        kind=kind,
        label=label,
        amount=amount,
        currency=currency,
        granted_at=granted_at,
        expires_at=expires_at,
        approval_id=approval_id,
    )


def use(document: InvoiceDocument, uses: Iterable[Use], *, at: datetime) -> None:
    """Note what went into a document, inside the act that issues it."""
    CreditUse.objects.bulk_create(
        CreditUse(
            organization_id=document.organization_id,
            grant_id=each.grant,
            document=document,
            kind=UseKind.USED,
            amount=each.amount,
            at=at,
        )
        for each in uses
    )


def give_back_promotions(document: InvoiceDocument, *, at: datetime) -> Decimal:
    """Return the promotions of an invoice that is voided; gives their sum."""
    uses = CreditUse.objects.filter(document=document, kind=UseKind.USED, grant__kind=GrantKind.PROMOTIONAL)
    rows = [
        CreditUse(
            organization_id=use.organization_id,
            grant_id=use.grant_id,
            document=document,
            kind=UseKind.RETURNED,
            amount=-use.amount,
            at=at,
        )
        for use in uses
    ]
    CreditUse.objects.bulk_create(rows)
    return -sum((row.amount for row in rows), Decimal(0))


def lapse_due(*, now: datetime) -> int:
    """Book what expired unused, each grant in an act of its own. Returns how many lapsed."""
    with scope.of_platform():
        due = due_to_lapse(now)
    lapsed = 0
    for organization_id, grant_id in due:
        try:
            with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
                lapsed += _lapse(organization_id, grant_id, now)
        except Exception:
            log.exception("grant_not_lapsed", grant=str(grant_id))
    return lapsed


def _lapse(organization_id: UUID, grant_id: UUID, now: datetime) -> bool:
    ledger.serialise(organization_id)
    found = CreditGrant.objects.get(pk=grant_id)
    left = left_by_grant([found])[found.pk]
    if not left or found.expires_at is None or _may_still_use(organization_id, found.expires_at):
        return False
    CreditUse.objects.create(
        organization_id=organization_id, grant=found, kind=UseKind.EXPIRED, amount=left, at=found.expires_at
    )
    target = AccountKind.PROMOTION_COST if found.kind == GrantKind.PROMOTIONAL else AccountKind.BREAKAGE
    _post(found, f"lapse/{found.key}", target, -left, now)
    actor = system_actor("credit sweep", organization_id)
    audit.record(actor, "credit.lapsed", found.ref, now=now, after={"amount": str(left), "currency": found.currency})
    return True


def _may_still_use(organization_id: UUID, expires_at: datetime) -> bool:
    """A month that ended before the credit expired and is not issued yet may draw on it."""
    return BillingPeriod.objects.filter(
        organization_id=organization_id, state=PeriodState.OPEN, end__lte=expires_at
    ).exists()


def _post(found: CreditGrant, key: str, other: AccountKind, amount: Decimal, now: datetime) -> None:
    held = AccountKind.PROMOTIONS if found.kind == GrantKind.PROMOTIONAL else AccountKind.WALLET
    ledger.post(
        organization_id=found.organization_id,
        key=key,
        currency=found.currency,
        amounts={other: amount, held: -amount},
        at=now,
    )


def _same(known: CreditGrant, kind: str, amount: Decimal, expires_at: datetime | None) -> CreditGrant:
    if (known.kind, known.amount, known.expires_at) != (kind, amount, expires_at):
        raise Conflict(f"{known.key} was granted already, with other content.", code="granted_otherwise")
    return known


def _refuse_nonsense(amount: Decimal, currency: str, key: str) -> None:
    errors = []
    if amount <= 0 or amount != amount.quantize(Decimal(1).scaleb(-minor_digits(currency))):
        errors.append(FieldError("amount", "out_of_range", f"A positive amount in whole minor units of {currency}."))
    if not 0 < len(key) <= 100:
        errors.append(FieldError("key", "out_of_range", "1 to 100 characters that say what it is given for."))
    if errors:
        raise Invalid(errors)
