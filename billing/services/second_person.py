"""Credits and write-offs above the seller's limit wait for a second person. `approved` does what was agreed to."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from billing.models import InvoiceDocument
from billing.selectors.parties import seller_at
from core.types import Actor, Json
from tenants.enums import ApprovalKind, Decider
from tenants.services import approvals

if TYPE_CHECKING:
    from tenants.models import Organization

RULE = "second_person_above"


def needed(amount: Decimal, now: datetime) -> bool:
    """Whether one person alone may not. Without a seller nobody may."""
    seller = seller_at(now)
    return amount > (seller.second_person_above if seller else Decimal(0))


def ask(
    *,
    actor: Actor,
    organization: Organization,
    invoice: InvoiceDocument,
    act: str,
    amount: Decimal,
    reason: str,
    now: datetime,
    details: dict[str, Json] | None = None,
) -> None:
    """Ask the platform's people for a write-off, a credit note or a void. It is an act of its own, on record."""
    payload: dict[str, Json] = {
        "act": act,
        "invoice": invoice.number,
        "amount": str(amount),
        "currency": invoice.currency,
        **(details or {}),
    }
    request = approvals.Request(
        kind=ApprovalKind.CREDIT,
        subject=invoice.ref,
        place=organization,
        justification=reason,
        payload=payload,
        rule=RULE,
        decider=Decider.PLATFORM,
    )
    approvals.ask(actor=actor, request=request, now=now)


def ask_for_grant(
    *,
    actor: Actor,
    organization: Organization,
    key: str,
    label: str,
    amount: Decimal,
    expires_at: datetime | None,
    now: datetime,
) -> None:
    """The same for promotional credit: its subject is the organisation."""
    payload: dict[str, Json] = {
        "act": "grant",
        "key": key,
        "label": label,
        "amount": str(amount),
        "currency": organization.currency,
        "expires_at": expires_at.isoformat() if expires_at else "",
    }
    request = approvals.Request(
        kind=ApprovalKind.CREDIT,
        subject=organization.ref,
        place=organization,
        justification=label,
        payload=payload,
        rule=RULE,
        decider=Decider.PLATFORM,
    )
    approvals.ask(actor=actor, request=request, now=now)
