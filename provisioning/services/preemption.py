"""Room for a lender who waits: preemptible workloads that stand on what it has lent end, and come back later."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from core import acts, scope
from core.acts import Source, SourceKind
from core.types import Reason, system_actor
from provisioning.enums import State, Waits
from provisioning.models import Workload
from provisioning.selectors.lending import ENDS_FOR_A_LENDER, borrowers_of, needs_of
from provisioning.services.shares import waits_for
from provisioning.services.transitions import locked, transition
from provisioning.taking_back import to_end
from provisioning.types import Move


def make_room(*, organization_id: UUID, workload_id: UUID, now: datetime) -> int:
    """End what it takes for a workload that waits for its share; nothing for all others. Returns how many.

    Each is an act and a transaction of its own, so that no two workloads are ever locked together.
    """
    with scope.of_organization(organization_id):
        lender = Workload.objects.filter(pk=workload_id, state=State.REQUESTED).select_related("project").first()
        if lender is None or waits_for(lender) != Waits.LENT_OUT:
            return 0
        needs = needs_of(lender, now)
        may, ending = borrowers_of(needs) if needs else ([], [])
        chosen = to_end(needs, may, ending) if may else ()
    return sum(_end(organization_id, each, lender, now) for each in chosen)


def _end(organization_id: UUID, workload_id: UUID, lender: Workload, now: datetime) -> bool:
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
        workload = locked(workload_id)
        if workload is None or workload.state not in ENDS_FOR_A_LENDER or not workload.preemptible:
            return False
        place = lender.project.slug
        message = f"Ended to give back what {place} has lent. It starts again when there is room."
        waits_here = workload.state == State.QUEUED
        move = Move(
            verb="workload.preempted",
            message=message,
            to=(State.STOPPED, State.REQUESTED) if waits_here else (State.STOPPING,),
            reason=Reason(code=Waits.PREEMPTED, message=message),
            ends_as=State.STOPPED,
        )
        transition(workload, move, actor=system_actor("lending", organization_id), now=now)
        return True
