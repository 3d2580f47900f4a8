"""The platform goes down: what runs on this machine ends with it, and is wished to run again."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from core import acts, scope
from core.acts import Source, SourceKind
from core.types import Reason, system_actor
from provisioning.enums import State
from provisioning.services.transitions import locked, transition
from provisioning.types import Move

REASON = Reason(code="platform_stopped", message="It ended with the platform, and starts again with it.")


def end_with_platform(*, organization_id: UUID, workload_id: UUID, now: datetime) -> bool:
    """Begin to end a placed workload without touching the wish; True where it is (or was already) ending."""
    with acts.begin(Source(SourceKind.COMMAND)), scope.of_organization(organization_id):
        workload = locked(workload_id)
        if workload is None:
            return False
        if workload.state in (State.PROVISIONING, State.RUNNING):
            move = Move(
                verb="workload.ended_with_platform",
                message=REASON.message,
                to=(State.STOPPING,),
                reason=REASON,
                ends_as=State.STOPPED,
            )
            transition(workload, move, actor=system_actor("shutdown", organization_id), now=now)
        return workload.state in (State.STOPPING, State.DELETING)
