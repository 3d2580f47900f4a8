"""Who may act on a workload: its owner by the right to launch, others by the right to operate."""

from __future__ import annotations

from core.errors import Forbidden
from core.types import Actor
from provisioning.models import Workload
from tenants.enums import Permission
from tenants.permissions import holds


def permission_to_act(actor: Actor, workload: Workload) -> Permission:
    """LAUNCH_WORKLOAD for one's own workloads, OPERATE_WORKLOAD for other people's."""
    return Permission.LAUNCH_WORKLOAD if workload.owner_id == actor.id else Permission.OPERATE_WORKLOAD


def may_act(actor: Actor, workload: Workload) -> bool:
    return holds(actor, permission_to_act(actor, workload), workload.project)


def may_operate(actor: Actor, workload: Workload) -> bool:
    """Whether the actor may act on anybody's workloads in the project."""
    return holds(actor, Permission.OPERATE_WORKLOAD, workload.project)


def authorize_act(actor: Actor, workload: Workload) -> None:
    """Raise Forbidden unless the actor, who sees the workload, may also change it."""
    if not may_act(actor, workload):
        ask = "its owner, or an admin of the project"
        raise Forbidden(permission_to_act(actor, workload), workload.ref, ask=ask)


def may_enter(actor: Actor, workload: Workload) -> bool:
    """A workspace holds a person's files and credentials: its owner alone opens it, while allowed to launch there.

    Nobody does on the owner's behalf.
    """
    own = workload.owner_id == actor.id and actor.operator_id is None
    return own and holds(actor, Permission.LAUNCH_WORKLOAD, workload.project)


def authorize_enter(actor: Actor, workload: Workload) -> None:
    """Raise Forbidden unless the actor may open the workspace."""
    if not may_enter(actor, workload):
        raise Forbidden(Permission.LAUNCH_WORKLOAD, workload.ref, ask="its owner, who alone opens a workspace")


def sees_variables(actor: Actor, workload: Workload) -> bool:
    """Environment variables may hold secrets: their owner alone sees them, nobody in the owner's place."""
    return workload.owner_id == actor.id and actor.operator_id is None


def authorize_artifacts(actor: Actor, workload: Workload) -> None:
    """What a job leaves in its folder for artefacts is for all who see the job, and for nobody in their place."""
    if actor.operator_id is not None:
        raise Forbidden(Permission.VIEW_WORKLOAD, workload.ref, ask="somebody of the project")
