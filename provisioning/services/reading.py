"""What a workload says: its log, asked of the driver outside any transaction."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from core import scope
from core.errors import NotFound
from core.types import Actor
from provisioning.drivers.base import DriverUnavailable, WorkloadDriver
from provisioning.drivers.places import Place
from provisioning.enums import Kind, Outcome
from provisioning.models import Attempt, Event, Workload
from provisioning.selectors.specs import place_of, spec_of
from provisioning.selectors.workloads import workload_for

MOST_LINES = 2000


def log_of(
    *,
    actor: Actor,
    workload_id: UUID,
    tail: int,
    drivers: Callable[[Place], WorkloadDriver],
    attempt: int | None = None,
) -> tuple[str, ...]:
    """The last lines of a workload's log, for those who may see it. Opens a short scope of its own.

    Where the driver has nothing left, the lines that were kept when it ended. `attempt`: those of one of a job's, by
    its number; of one that goes on, the driver's. Raises NotFound where there is no such attempt.
    """
    assert actor.organization_id is not None
    with scope.of_organization(actor.organization_id):
        workload = workload_for(actor, workload_id)
        spec, place = spec_of(workload), place_of(workload.cluster)
        ended = _ended(workload, attempt)
        if ended is not None:
            return tuple(ended.log[-tail:]) if tail > 0 else ()
        kept = kept_lines(workload)
    try:
        lines = drivers(place).logs(spec, tail=min(tail, MOST_LINES))
    except DriverUnavailable:
        lines = ()
    return lines or kept


def _ended(workload: Workload, number: int | None) -> Attempt | None:
    """That attempt, if it is over."""
    if number is None:
        return None
    found = Attempt.objects.filter(workload=workload, number=number).first()
    if found is None:
        raise NotFound("attempt", str(number))
    return None if found.outcome == Outcome.RUNNING else found


def kept_lines(workload: Workload) -> tuple[str, ...]:
    """The last lines of a job's last attempt that is over; of all else of the run that failed last, as its event
    holds them."""
    if workload.kind == Kind.JOB:
        over = Attempt.objects.filter(workload=workload).exclude(outcome=Outcome.RUNNING).order_by("-number").first()
        return tuple(over.log) if over else ()
    kept = Event.objects.filter(workload=workload, details__has_key="log").order_by("-id").first()
    return tuple(kept.details["log"]) if kept else ()
