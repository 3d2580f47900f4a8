"""Money that comes in, money that will not, and due dates that pass: each under the organisation's money lock."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

import structlog
from django.db import transaction

from billing.enums import AccountKind, InvoiceState, PaymentMethod
from billing.models import InvoiceDocument, InvoiceStanding, Payment, WriteOff
from billing.permissions import authorize_money
from billing.selectors.documents import invoice_here
from billing.services import documents, ledger, notes, second_person
from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.errors import Conflict, FieldError, Invalid, Refused
from core.money import minor_digits
from core.types import Actor, Reason, system_actor
from tenants.selectors import organization_by_id

log = structlog.get_logger(__name__)


@transaction.atomic
def mark_paid(
    *, actor: Actor, invoice_id: UUID, amount: Decimal, reference: str, received_on: date, now: datetime
) -> Payment:
    """A bank transfer for an invoice, whole or in part. The same reference marks it once; with another amount or
    invoice it is a Conflict. Raises Refused for more than is open."""
    authorize_money(actor)
    invoice = invoice_here(invoice_id)
    _refuse_nonsense(amount, invoice.currency, reference, received_on, now)
    ledger.serialise(invoice.organization_id)
    known = Payment.objects.filter(
        organization_id=invoice.organization_id, method=PaymentMethod.BANK_TRANSFER, reference=reference
    ).first()
    if known is not None:
        return _same(known, invoice, amount)
    invoice, standing = notes.opened(invoice_id)
    if amount > standing.open:
        words = f"{invoice.number} has {standing.open} {invoice.currency} open, not {amount}."
        raise Refused([Reason(code="more_than_open", message=words)], ref=invoice.ref, code="more_than_open")
    before = standing.state
    made = Payment.objects.create(
        organization_id=invoice.organization_id,
        invoice=invoice,
        method=PaymentMethod.BANK_TRANSFER,
        reference=reference,
        amount=amount,
        currency=invoice.currency,
        received_on=received_on,
        recorded_at=now,
    )
    standing.settled += amount
    documents.project(standing, now=now)
    documents.save(standing)
    ledger.post(
        organization_id=invoice.organization_id,
        key=f"payment/{made.pk}",
        currency=invoice.currency,
        amounts={AccountKind.BANK: amount, AccountKind.RECEIVABLE: -amount},
        at=now,
    )
    after = {"state": str(standing.state), "amount": str(amount), "reference": reference}
    audit.record(actor, "invoice.paid", invoice.ref, now=now, before={"state": str(before)}, after=after)
    return made


@transaction.atomic
def write_off(
    *, actor: Actor, invoice_id: UUID, reason: str, now: datetime, approval_id: UUID | None = None
) -> WriteOff | None:
    """Give up what is still open. Above the limit it waits for a second person: None."""
    authorize_money(actor)
    if not 0 < len(reason.strip()) <= 300:
        raise Invalid([FieldError("reason", "required", "Say why, in at most 300 characters.")])
    invoice, standing = notes.opened(invoice_id)
    lost = standing.open
    if not lost:
        words = f"{invoice.number} has nothing open."
        raise Refused([Reason(code="nothing_open", message=words)], ref=invoice.ref, code="nothing_open")
    if approval_id is None and not actor.is_system and second_person.needed(lost, now):
        organization = organization_by_id(invoice.organization_id)
        second_person.ask(
            actor=actor,
            organization=organization,
            invoice=invoice,
            act="write_off",
            amount=lost,
            reason=reason,
            now=now,
        )
        return None
    made = WriteOff.objects.create(
        organization_id=invoice.organization_id,
        invoice=invoice,
        amount=lost,
        reason=reason,
        at=now,
        approval_id=approval_id,
    )
    standing.written_off += lost
    documents.project(standing, now=now)
    documents.save(standing)
    ledger.post(
        organization_id=invoice.organization_id,
        key=f"write_off/{made.pk}",
        currency=invoice.currency,
        amounts={AccountKind.WRITE_OFF: lost, AccountKind.RECEIVABLE: -lost},
        at=now,
    )
    audit.record(actor, "invoice.written_off", invoice.ref, now=now, after={"amount": str(lost), "reason": reason})
    return made


def sweep_overdue(*, now: datetime) -> int:
    """Note that due dates have passed, each invoice in an act of its own. Returns how many became overdue."""
    with scope.of_platform():
        rows = InvoiceStanding.objects.filter(
            state__in=[InvoiceState.ISSUED, InvoiceState.PARTIALLY_PAID], due_at__lte=now
        ).order_by("due_at")
        due = list(rows.values_list("organization_id", "invoice_id"))
    noted = 0
    for organization_id, invoice_id in due:
        try:
            with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
                noted += _note_overdue(organization_id, invoice_id, now)
        except Exception:
            log.exception("overdue_not_noted", invoice=str(invoice_id))
    return noted


def _note_overdue(organization_id: UUID, invoice_id: UUID, now: datetime) -> bool:
    """Read again under the lock: a payment may have come first."""
    ledger.serialise(organization_id)
    rows = InvoiceStanding.objects.select_for_update(of=("self",)).select_related("invoice")
    standing = rows.get(invoice_id=invoice_id)
    before = standing.state
    if not documents.project(standing, now=now) or standing.state != InvoiceState.OVERDUE:
        return False
    documents.save(standing)
    actor = system_actor("overdue sweep", organization_id)
    told = {"state": str(standing.state), "open": str(standing.open)}
    audit.record(actor, "invoice.overdue", standing.invoice.ref, now=now, before={"state": str(before)}, after=told)
    return True


def _same(known: Payment, invoice: InvoiceDocument, amount: Decimal) -> Payment:
    if (known.invoice_id, known.amount) != (invoice.pk, amount):
        raise Conflict(f"The transfer {known.reference} was marked already, otherwise.", code="marked_otherwise")
    return known


def _refuse_nonsense(amount: Decimal, currency: str, reference: str, received_on: date, now: datetime) -> None:
    errors = []
    if amount <= 0 or amount != amount.quantize(Decimal(1).scaleb(-minor_digits(currency))):
        errors.append(FieldError("amount", "out_of_range", f"A positive amount in whole minor units of {currency}."))
    if not 0 < len(reference.strip()) <= 120:
        errors.append(FieldError("reference", "required", "The bank's reference, at most 120 characters."))
    if received_on.toordinal() > now.date().toordinal() + 1:
        errors.append(FieldError("received_on", "in_the_future", "Money is marked once it has come."))
    if errors:
        raise Invalid(errors)
