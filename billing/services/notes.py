"""Giving back: credit notes, and voiding, which is a full credit note and, where asked, a replacement."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db import transaction

from billing.enums import AccountKind, DocumentKind, GrantKind, InvoiceState, TaxCategory
from billing.invoicing import document
from billing.invoicing.notes import NoteAmounts, note_amounts, refuse_too_much
from billing.invoicing.values import Tax
from billing.models import InvoiceDocument, InvoiceStanding
from billing.permissions import authorize_money
from billing.selectors.documents import content_of, credited_by_line, invoice_here
from billing.selectors.parties import party_from
from billing.services import documents, grants, ledger, replacing, second_person
from billing.services.invoices import told
from core import audit
from core.errors import FieldError, Invalid, Refused
from core.types import Actor, Reason
from tenants.selectors import organization_by_id


@transaction.atomic
def credit(
    *,
    actor: Actor,
    invoice_id: UUID,
    credits: Mapping[int, Decimal],
    reason: str,
    now: datetime,
    approval_id: UUID | None = None,
) -> InvoiceDocument | None:
    """Give back amounts (net) of lines, by position, with their tax. None: it waits for a second person.

    What was paid already goes into the wallet. Raises Refused with a reason for each line that cannot.
    """
    authorize_money(actor)
    _must_say_why(reason)
    invoice, standing = opened(invoice_id)
    content = content_of(invoice)
    reasons = refuse_too_much(credits, billed=document.nets_of(content), credited=credited_by_line(invoice))
    if reasons or not credits:
        nothing = Reason(code="nothing_to_credit", message="No line has anything to give back.")
        raise Refused(reasons or [nothing], ref=invoice.ref, code="not_creditable")
    amounts = _amounts(invoice, credits)
    if approval_id is None and not actor.is_system and second_person.needed(amounts.total, now):
        second_person.ask(
            actor=actor,
            organization=organization_by_id(invoice.organization_id),
            invoice=invoice,
            act="credit",
            amount=amounts.total,
            reason=reason,
            now=now,
            details={"credits": {str(position): str(amount) for position, amount in sorted(credits.items())}},
        )
        return None
    made = _give_back(invoice, standing, dict(credits), amounts, reason=reason, now=now, approval_id=approval_id)
    documents.save(standing)
    audit.record(actor, "credit_note.issued", made.ref, now=now, after={**told(made), "corrects": invoice.number})
    return made


@transaction.atomic
def void(
    *,
    actor: Actor,
    invoice_id: UUID,
    reason: str,
    replace: bool,
    now: datetime,
    approval_id: UUID | None = None,
) -> tuple[InvoiceDocument, InvoiceDocument | None] | None:
    """Give back all that is left, return the promotions, and with `replace` issue the same lines anew to the parties
    as they are now. None: it waits for a second person."""
    authorize_money(actor)
    _must_say_why(reason)
    invoice, standing = opened(invoice_id)
    given = credited_by_line(invoice)
    billed = document.nets_of(content_of(invoice))
    left = {number: net - given.get(number, Decimal(0)) for number, net in enumerate(billed, start=1)}
    credits = {number: amount for number, amount in left.items() if amount}
    amounts = _amounts(invoice, credits)
    if approval_id is None and not actor.is_system and second_person.needed(amounts.total, now):
        second_person.ask(
            actor=actor,
            organization=organization_by_id(invoice.organization_id),
            invoice=invoice,
            act="void",
            amount=amounts.total,
            reason=reason,
            now=now,
            details={"replace": replace},
        )
        return None
    replacing.give_back_promotions(invoice, now=now)
    note = _give_back(invoice, standing, credits, amounts, reason=reason, now=now, approval_id=approval_id)
    standing.voided = True
    documents.project(standing, now=now)
    documents.save(standing)
    new = replacing.replace(invoice, now=now) if replace else None
    after = {"credit_note": note.number, "replacement": new.number if new else "", "total": str(note.total)}
    audit.record(actor, "invoice.voided", invoice.ref, now=now, after=after)
    return note, new


def opened(invoice_id: UUID) -> tuple[InvoiceDocument, InvoiceStanding]:
    """An invoice that can still be changed, under the organisation's money lock and its own row's."""
    invoice = invoice_here(invoice_id)
    ledger.serialise(invoice.organization_id)
    standing = InvoiceStanding.objects.select_for_update().get(invoice=invoice)
    if standing.voided or standing.state in (InvoiceState.WRITTEN_OFF, InvoiceState.CREDITED):
        words = f"{invoice.number} is {InvoiceState(standing.state).label.lower()}."
        raise Refused([Reason(code=f"invoice_{standing.state}", message=words)], ref=invoice.ref, code="settled")
    return invoice, standing


def _amounts(invoice: InvoiceDocument, credits: Mapping[int, Decimal]) -> NoteAmounts:
    """From all notes so far, so that their sum is the invoice's own rounding."""
    before = sum(credited_by_line(invoice).values(), Decimal(0))
    rate = Decimal(str(document.part(content_of(invoice), "tax")["rate"]))
    asked = sum(credits.values(), Decimal(0))
    return note_amounts(asked, credited=before, rate=rate, currency=invoice.currency)


def _give_back(
    invoice: InvoiceDocument,
    standing: InvoiceStanding,
    credits: dict[int, Decimal],
    amounts: NoteAmounts,
    *,
    reason: str,
    now: datetime,
    approval_id: UUID | None,
) -> InvoiceDocument:
    """The note, its postings, and the wallet's share of it; `standing` is changed and not saved."""
    made = _freeze(invoice, credits, amounts, reason=reason, now=now, approval_id=approval_id)
    over = max(standing.settled + standing.credited - standing.total, Decimal(0))
    standing.credited += amounts.total
    to_wallet = max(standing.settled + standing.credited - standing.total, Decimal(0)) - over
    documents.project(standing, now=now)
    ledger.post(
        organization_id=invoice.organization_id,
        key=f"credit_note/{made.number}",
        currency=invoice.currency,
        amounts={
            AccountKind.REVENUE: amounts.net,
            AccountKind.TAX: amounts.tax,
            AccountKind.RECEIVABLE: to_wallet - amounts.total,
            AccountKind.WALLET: -to_wallet,
        },
        at=now,
    )
    if to_wallet:
        grants.write(
            organization_id=invoice.organization_id,
            kind=GrantKind.PREPAID,
            key=f"credit_note/{made.number}",
            label=made.number,
            amount=to_wallet,
            currency=invoice.currency,
            granted_at=now,
        )
    return made


def _freeze(
    invoice: InvoiceDocument,
    credits: dict[int, Decimal],
    amounts: NoteAmounts,
    *,
    reason: str,
    now: datetime,
    approval_id: UUID | None,
) -> InvoiceDocument:
    """To the parties, in the language and at the tax of the invoice."""
    content = content_of(invoice)
    tax = document.part(content, "tax")
    return documents.freeze(
        documents.Draft(
            kind=DocumentKind.CREDIT_NOTE,
            period=invoice.period,
            prefix=organization_by_id(invoice.organization_id).slug.upper(),
            language=str(content["language"]),
            seller=party_from(document.part(content, "seller")),
            buyer=party_from(document.part(content, "buyer")),
            tax=Tax(TaxCategory(str(tax["category"])), Decimal(str(tax["rate"])), str(tax["note"])),
            net=amounts.net,
            tax_amount=amounts.tax,
            terms_days=None,
            corrects=invoice,
            approval_id=approval_id,
        ),
        lambda heading: document.credit_note(heading, content, credits, amounts, reason=reason),
        now=now,
    )


def _must_say_why(reason: str) -> None:
    if not 0 < len(reason.strip()) <= 300:
        raise Invalid([FieldError("reason", "required", "Say why, in at most 300 characters.")])
