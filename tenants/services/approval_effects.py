"""What follows when an approval is settled, by its kind, in the transaction that settles it.

A module that stands here may not import `approvals` (which reads this table). It records no event of its own: the
settling is the act. What lies above tenancy is only hinted at by its task's name; its own sweep is the guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from core.queue import enqueue_on_commit
from core.types import Actor
from tenants.enums import ApprovalKind
from tenants.models import Approval
from tenants.services import project_moves, quota_raises

Effect = Callable[[Approval, Actor, datetime], None]


def follow(approval: Approval, *, actor: Actor, now: datetime) -> None:
    """Do what the approval's new state (approved, refused, expired or voided) asks for; nothing for other kinds."""
    effect = EFFECTS.get(ApprovalKind(approval.kind))
    if effect is not None:
        effect(approval, actor, now)


def _wake_workload(approval: Approval, _actor: Actor, _now: datetime) -> None:
    """The reconciler runs all checks again, or ends the launch that was refused."""
    enqueue_on_commit(
        "provisioning.approval_settled",
        organization_id=approval.organization_id,
        workload_id=approval.subject_id,
    )


def _wake_billing(approval: Approval, _actor: Actor, _now: datetime) -> None:
    """A credit or a write-off that somebody else has agreed to is done."""
    enqueue_on_commit("billing.approval_settled", organization_id=approval.organization_id, approval_id=approval.pk)


EFFECTS: Mapping[ApprovalKind, Effect] = {
    ApprovalKind.LAUNCH: _wake_workload,
    ApprovalKind.QUOTA: quota_raises.follow_approval,
    ApprovalKind.CREDIT: _wake_billing,
    ApprovalKind.MOVE: project_moves.follow_approval,
}
