"""One turn for one workload: claim (short transaction), act (none), apply (short transaction)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from core import scope
from provisioning.drivers.base import (
    DriverUnavailable,
    Observation,
    Phase,
    RunsArrays,
    RunSpec,
    TaskSeen,
    TellsChanges,
    WorkloadDriver,
)
from provisioning.drivers.inside import TellsHappenings
from provisioning.drivers.places import Place
from provisioning.enums import State
from provisioning.models import Workload
from provisioning.reconciler.applying import Turned, apply
from provisioning.reconciler.claims import Claimed, claim
from provisioning.reconciler.policy import GONE, Call, Situation, Trying, call_for, next_step
from provisioning.services.attempts import MOST_KEPT
from provisioning.services.preemption import make_room

log = structlog.get_logger(__name__)

Clock = Callable[[], datetime]
Drivers = Callable[[Place], WorkloadDriver]

_MOST_TURNS = 8
_LOGS_A_TURN = 50
_LINES_OF_A_TASK = 200
_BETWEEN_TURNS = 0.05
_ENDING = (State.STOPPING, State.DELETING)


def reconcile(*, organization_id: UUID, workload_id: UUID, drivers: Drivers, clock: Clock) -> int:
    """Turn until the workload is no longer due; a wish made meanwhile is thus honoured at once. Returns the turns."""
    for turns in range(_MOST_TURNS):
        turned = _turn(organization_id, workload_id, drivers, clock)
        if turned is not Turned.DUE:
            return turns + (turned is Turned.RESTS)
    return _MOST_TURNS


def finish_ending(
    *, organization_id: UUID, workload_id: UUID, drivers: Drivers, clock: Clock, within: timedelta
) -> bool:
    """Turn until a workload that is ending has ended, whoever held its lease. False where time ran out."""
    patience = time.monotonic() + within.total_seconds()
    while _state(organization_id, workload_id) in _ENDING:
        if time.monotonic() > patience:
            return False
        _turn(organization_id, workload_id, drivers, clock, steal=True)
        time.sleep(_BETWEEN_TURNS)
    return True


def _turn(
    organization_id: UUID, workload_id: UUID, drivers: Drivers, clock: Clock, *, steal: bool = False
) -> Turned | None:
    """None where there was nothing to claim."""
    claimed = claim(organization_id, workload_id, now=clock(), steal=steal)
    if claimed is None:
        return None
    call = call_for(claimed.state, claimed.desired, claimed.ends_as, has_run=claimed.has_run)
    seen, trouble, watched = _act(claimed, call, drivers)
    now = clock()
    situation = Situation(
        state=claimed.state,
        desired=claimed.desired,
        ends_as=claimed.ends_as,
        has_run=claimed.has_run,
        late=claimed.is_late(now),
        observation=seen,
        trouble=trouble,
        trying=None if claimed.job is None else Trying(claimed.job, claimed.failures, now),
        watched=watched,
    )
    turned = apply(claimed, call, next_step(situation), seen, trouble=trouble, now=now)
    if call is Call.READMIT:
        make_room(organization_id=organization_id, workload_id=workload_id, now=now)
    return turned


def _act(claimed: Claimed, call: Call, drivers: Drivers) -> tuple[Observation | None, str, bool]:
    """Ask the driver: what it saw, or why it could not say, and whether it tells of changes. No transaction is open and
    no lock is held."""
    if call in (Call.NOTHING, Call.ADMIT, Call.READMIT):
        return None, "", False
    try:
        driver = drivers(claimed.place)
        ask = {
            Call.PRESENT: driver.ensure_present,
            Call.OBSERVE: driver.observe,
            Call.STOP: driver.ensure_stopped,
            Call.ABSENT: driver.ensure_absent,
        }[call]
        seen = _with_log(driver, claimed, ask(claimed.spec))
        seen = _with_happenings(driver, claimed, _with_task_logs(driver, claimed.spec, seen))
        return seen, "", isinstance(driver, TellsChanges)
    except DriverUnavailable as error:
        return None, str(error), False
    except Exception as error:  # whatever a driver does, it is "unknown", and the workload's deadline still counts
        log.exception("driver_failed", workload=str(claimed.workload_id), call=call.value)
        return None, f"the driver failed ({type(error).__name__})", False


def _with_log(driver: WorkloadDriver, claimed: Claimed, seen: Observation) -> Observation:
    """Of a job's attempt that has ended: its last lines, while they are there."""
    if claimed.job is None or seen.phase not in GONE or seen.incarnation is None:
        return seen
    return replace(seen, log_tail=driver.logs(claimed.spec, tail=MOST_KEPT) or seen.log_tail)


def _with_task_logs(driver: WorkloadDriver, spec: RunSpec, seen: Observation) -> Observation:
    """Of tasks that have ended and are not on record: their last lines. While the run goes on, of some at a time: the
    others are left out, and seen at the next turn."""
    if spec.array is None or not isinstance(driver, RunsArrays):
        return seen
    told: list[TaskSeen] = []
    asked = 0
    for task in seen.tasks:
        if task.index in spec.array.taken or task.phase not in (Phase.SUCCEEDED, Phase.FAILED):
            told.append(task)
        elif asked < _LOGS_A_TURN or seen.phase in GONE:
            asked += 1
            told.append(replace(task, log=driver.task_log(spec, task.index, tail=_LINES_OF_A_TASK)))
    return replace(seen, tasks=tuple(told))


def _with_happenings(driver: WorkloadDriver, claimed: Claimed, seen: Observation) -> Observation:
    """Of a run that has ended: what its cluster said of it, while it knows. No end waits for that."""
    over = seen.phase in GONE and seen.incarnation is not None and claimed.state != State.DELETING
    if not over or not isinstance(driver, TellsHappenings):
        return seen
    try:
        return replace(seen, happenings=driver.happenings(claimed.spec))
    except DriverUnavailable:
        return seen


def _state(organization_id: UUID, workload_id: UUID) -> str | None:
    with scope.of_organization(organization_id):
        return Workload.objects.filter(pk=workload_id).values_list("state", flat=True).first()
