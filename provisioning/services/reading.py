"""What a workload says: its log, asked of the driver outside any transaction."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from core import scope
from core.errors import NotFound
from core.types import Actor
from provisioning.drivers.base import DriverUnavailable, RunsArrays, RunSpec, WorkloadDriver
from provisioning.drivers.places import Place
from provisioning.enums import Kind, Outcome
from provisioning.models import Attempt, Event, Task, Workload
from provisioning.selectors.specs import place_of, spec_of
from provisioning.selectors.workloads import workload_for
from provisioning.types import NEWEST, LogOf

MOST_LINES = 2000


def log_of(
    *,
    actor: Actor,
    workload_id: UUID,
    tail: int,
    drivers: Callable[[Place], WorkloadDriver],
    of: LogOf = NEWEST,
) -> tuple[str, ...]:
    """The last lines of a workload's log, for those who may see it. Opens a short scope of its own.

    Where the driver has nothing left, the lines that were kept when it ended. Of one attempt or task that is over, the
    lines that were kept; of one that goes on, the driver's. Raises NotFound where there is no such one.
    """
    assert actor.organization_id is not None
    with scope.of_organization(actor.organization_id):
        workload = workload_for(actor, workload_id)
        spec, place = spec_of(workload), place_of(workload.cluster)
        ended = _ended(workload, of)
        if ended is not None:
            return tuple(ended.log[-tail:]) if tail > 0 else ()
        kept = kept_lines(workload) if of.task is None else ()
    try:
        lines = _lines(drivers(place), spec, of, min(tail, MOST_LINES))
    except DriverUnavailable:
        lines = ()
    return lines or kept


def _lines(driver: WorkloadDriver, spec: RunSpec, of: LogOf, tail: int) -> tuple[str, ...]:
    if of.task is None:
        return driver.logs(spec, tail=tail)
    return driver.task_log(spec, of.task, tail=tail) if isinstance(driver, RunsArrays) else ()


def _ended(workload: Workload, of: LogOf) -> Attempt | Task | None:
    """That attempt or task, if it is over."""
    if of.task is not None:
        task = Task.objects.filter(workload=workload, index=of.task).first()
        if task is None:
            raise NotFound("task", str(of.task))
        return task if task.outcome in (Outcome.SUCCEEDED, Outcome.FAILED) else None
    if of.attempt is None:
        return None
    found = Attempt.objects.filter(workload=workload, number=of.attempt).first()
    if found is None:
        raise NotFound("attempt", str(of.attempt))
    return None if found.outcome == Outcome.RUNNING else found


def kept_lines(workload: Workload) -> tuple[str, ...]:
    """The last lines of a job's last attempt that is over; of all else of the run that failed last, as its event
    holds them."""
    if workload.kind == Kind.JOB:
        over = Attempt.objects.filter(workload=workload).exclude(outcome=Outcome.RUNNING).order_by("-number").first()
        return tuple(over.log) if over else ()
    kept = Event.objects.filter(workload=workload, details__has_key="log").order_by("-id").first()
    return tuple(kept.details["log"]) if kept else ()
