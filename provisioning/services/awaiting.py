"""Launches that wait for approval: asked for, looked at again when it is settled, and given up when it is not given."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING
from uuid import UUID

from core import scope
from core.money import Money, plain
from core.types import Actor, Json, Reason
from provisioning.enums import State, Waits
from provisioning.models import Workload
from provisioning.types import Verdict
from tenants.enums import ApprovalKind, ApprovalState
from tenants.selectors.approvals import latest_approval
from tenants.services import approvals

if TYPE_CHECKING:
    from tenants.models import Approval

_OVER = {
    ApprovalState.REFUSED: Reason("approval_refused", "Its approval was refused. Start it to ask again."),
    ApprovalState.EXPIRED: Reason("approval_expired", "Nobody approved it in time. Start it to ask again."),
    ApprovalState.VOIDED: Reason("approval_withdrawn", "The request for its approval was taken back."),
}


def reason_of(verdict: Verdict) -> Reason:
    """Why the launch waits, with the rule that asks."""
    words = "two people who may decide it agree" if verdict.deciders > 1 else "somebody who may decide it agrees"
    first = verdict.approvals[0]
    return Reason(
        code=Waits.AWAITING_APPROVAL,
        message=f"Waits until {words}. {first.message}",
        asked=first.asked,
        limit=first.limit,
        ask="an admin of the project or an owner of the organisation, in their approvals",
        rule=first.rule,
    )


def ask(workload: Workload, verdict: Verdict, *, actor: Actor, justification: str, price: Money, now: datetime) -> None:
    """Ask anew, voiding what was asked before. Part of the act that launches or starts the workload."""
    approvals.void_open(kind=ApprovalKind.LAUNCH, subject_id=workload.pk, now=now)
    request = approvals.Request(
        kind=ApprovalKind.LAUNCH,
        subject=workload.ref,
        place=workload.project,
        justification=justification,
        payload=_payload(workload, price),
        rule=verdict.asking,
        needed=verdict.deciders,
        asked_by=workload.owner_id if actor.is_system else None,
    )
    approvals.write(actor=actor, request=request, now=now)


def covers(approval: Approval | None, workload: Workload, verdict: Verdict, *, price: Money) -> bool:
    """Whether what was approved is what would start now: the same in size, not dearer, and by as many people."""
    if approval is None or approval.state != ApprovalState.APPROVED or approval.needed < verdict.deciders:
        return False
    given, asked = approval.payload, _payload(workload, price)
    if any(given.get(name) != asked[name] for name in ("shape", "image", "disk_gib")):
        return False
    agreed = given["price_per_hour"]
    return agreed["currency"] == price.currency and Fraction(agreed["amount"]) >= Fraction(price.amount)


def latest(workload: Workload) -> Approval | None:
    return latest_approval(ApprovalKind.LAUNCH, workload.pk)


def why_over(workload: Workload) -> Reason | None:
    """Why a launch that waited for approval will not happen; None while it may, and for all that did not wait."""
    if workload.state != State.REQUESTED or (workload.reason or {}).get("code") != Waits.AWAITING_APPROVAL:
        return None
    approval = latest(workload)
    return _OVER.get(ApprovalState(approval.state)) if approval is not None else None


def give_up(workload: Workload, *, now: datetime) -> None:
    """Nobody needs to decide any more: the workload is stopped or deleted, or no rule asks."""
    approvals.void_open(kind=ApprovalKind.LAUNCH, subject_id=workload.pk, now=now)


def look_again(*, organization_id: UUID, workload_id: UUID, now: datetime) -> None:
    """What it waits for may be there: the reconciler finds it due. Opens its own scope."""
    with scope.of_organization(organization_id):
        Workload.objects.filter(pk=workload_id, state=State.REQUESTED).update(due_at=now)


def price_of(exact: Fraction | None, currency: str) -> Money:
    """A price per hour as an approval keeps it, to ten digits."""
    return Money(plain(exact or Fraction(0), digits=10).normalize(), currency)


def _payload(workload: Workload, price: Money) -> dict[str, Json]:
    shape = workload.shape
    return {
        "shape": shape.slug,
        "size": shape.label,
        "accelerators": shape.accelerator_count,
        "image": workload.image.slug,
        "disk_gib": workload.volume.size_gib,
        "price_per_hour": {"amount": f"{price.amount:f}", "currency": price.currency},
    }
