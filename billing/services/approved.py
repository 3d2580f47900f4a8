"""What a second person has agreed to is done, once; a hint comes at once, the sweep is the guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from uuid import UUID

import structlog

from billing.enums import GrantKind
from billing.models import CreditGrant, InvoiceDocument, WriteOff
from billing.services import grants, notes, payments
from core import acts, scope
from core.acts import Source, SourceKind
from core.errors import SteelyardError
from core.types import Actor, Json, system_actor
from tenants.enums import ApprovalKind, ApprovalState
from tenants.selectors.approvals import approval_for, approvals_visible_to

log = structlog.get_logger(__name__)


def do_due(*, now: datetime) -> int:
    """Everything that was approved and has not been done. Returns how much was."""
    with scope.of_platform():
        everybody = system_actor("approved credit", None)
        rows = approvals_visible_to(everybody).filter(kind=ApprovalKind.CREDIT, state=ApprovalState.APPROVED)
        waiting = [(row.organization_id, row.pk) for row in rows.order_by("id") if not _done(row.pk)]
    return sum(do(organization_id=organization_id, approval_id=pk, now=now) for organization_id, pk in waiting)


def do(*, organization_id: UUID, approval_id: UUID, now: datetime) -> bool:
    """One of them, in an act of its own. What no longer fits (the invoice was paid meanwhile) is left, and logged."""
    try:
        with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
            actor = system_actor("approved credit", organization_id)
            approval = approval_for(actor, approval_id)
            if approval.state != ApprovalState.APPROVED or approval.kind != ApprovalKind.CREDIT or _done(approval_id):
                return False
            _act(actor, approval.subject_id, approval.payload, approval.justification, approval_id, now)
            return True
    except SteelyardError as error:
        log.warning("approved_credit_not_done", approval=str(approval_id), error=error.message)
        return False


def _act(actor: Actor, subject: UUID, asked: Mapping[str, Json], why: str, approval_id: UUID, now: datetime) -> None:
    match asked["act"]:
        case "grant":
            expires = str(asked["expires_at"])
            grants.grant(
                actor=actor,
                organization_id=subject,
                kind=GrantKind.PROMOTIONAL,
                key=str(asked["key"]),
                label=str(asked["label"]),
                amount=Decimal(str(asked["amount"])),
                expires_at=datetime.fromisoformat(expires) if expires else None,
                now=now,
                approval_id=approval_id,
            )
        case "credit":
            wanted = asked["credits"]
            assert isinstance(wanted, dict)
            credits = {int(position): Decimal(str(amount)) for position, amount in wanted.items()}
            notes.credit(actor=actor, invoice_id=subject, credits=credits, reason=why, now=now, approval_id=approval_id)
        case "void":
            replace = bool(asked["replace"])
            notes.void(actor=actor, invoice_id=subject, reason=why, replace=replace, now=now, approval_id=approval_id)
        case "write_off":
            payments.write_off(actor=actor, invoice_id=subject, reason=why, now=now, approval_id=approval_id)


def _done(approval_id: UUID) -> bool:
    """Each leaves the approval's id where it acted."""
    return any(
        rows.filter(approval_id=approval_id).exists()
        for rows in (CreditGrant.objects, InvoiceDocument.objects, WriteOff.objects)
    )
