"""What to ask the driver, and what follows from its answer. Pure: truth tables of state, wish and observation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from core.types import Reason
from provisioning.drivers.base import Observation, Phase
from provisioning.enums import DesiredState, State, Waits
from provisioning.jobs import COMES_BACK, Next, back_off, what_follows
from provisioning.types import JobSpec, Move

S = State
_LAST_LINES = 20
GONE = frozenset({Phase.STOPPED, Phase.SUCCEEDED, Phase.FAILED, Phase.ABSENT})
KEPT_WAITING = frozenset(
    {
        "unschedulable",
        "volume_unbound",
        "image_pull_failed",
        "container_not_created",
        "pod_refused",
        "forbidden",
        "kueue_silent",
    }
)
"""What a start may wait for; one that waits too long fails for this."""
UNHURRIED = frozenset({"kueue_pending", "spot_dry"})
"""What a start waits for as long as it takes: it stands in a queue of the cluster's own, which says
why, or there is no spot capacity for now."""


_LAST_WORDS = {S.FAILED: "Failed.", S.SUCCEEDED: "Done. Its disk stays."}


class Call(StrEnum):
    """What the reconciler does for a workload. ADMIT and READMIT ask the database, the others the driver."""

    NOTHING = "nothing"
    READMIT = "readmit"
    ADMIT = "admit"
    PRESENT = "present"
    OBSERVE = "observe"
    STOP = "stop"
    ABSENT = "absent"


class Pace(StrEnum):
    """When to look again. LISTED: lists of all that runs tell whether to, so that this comes where none did."""

    SOON = "soon"
    LATER = "later"
    LISTED = "listed"
    SELDOM = "seldom"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Trying:
    """A job's own: what it runs, how many of its attempts have failed since somebody started it, and the time."""

    job: JobSpec
    failures: int
    now: datetime


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known when the driver has answered. `trouble`: it could not (then `observation` is None).

    `late`: the state's deadline is over. `has_run`: the workload was running since it was last placed. `trying`: of a
    job, None for all else. `watched`: what happens to it is told, so that looks in between find what was missed.
    """

    state: State
    desired: DesiredState
    ends_as: State
    has_run: bool
    late: bool
    observation: Observation | None = None
    trouble: str = ""
    trying: Trying | None = None
    watched: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """Move, or wait with a reason. `look_at`: when to look again, where that is known better than by the pace.
    `unhurried`: the state's deadline begins anew."""

    move: Move | None = None
    reason: Reason | None = None
    pace: Pace = Pace.SOON
    look_at: datetime | None = None
    unhurried: bool = False


def call_for(state: State, desired: DesiredState, ends_as: State, *, has_run: bool) -> Call:
    """A failed start is removed without a trace; what has run keeps its log."""
    match state:
        case S.REQUESTED | S.STOPPED:
            return Call.READMIT if desired is DesiredState.RUNNING else Call.NOTHING
        case S.QUEUED:
            return Call.ADMIT
        case S.PROVISIONING:
            return Call.PRESENT
        case S.RUNNING:
            return Call.OBSERVE
        case S.STOPPING:
            return Call.ABSENT if ends_as is S.FAILED and not has_run else Call.STOP
        case S.DELETING:
            return Call.ABSENT
    return Call.NOTHING


def next_step(situation: Situation) -> Step:
    """What to do with what was seen."""
    match situation.state:
        case S.PROVISIONING:
            return _starting(situation)
        case S.RUNNING:
            return _running(situation)
        case S.STOPPING:
            return _stopping(situation)
        case S.DELETING:
            return _deleting(situation)
    return Step(pace=Pace.NEVER)


def _starting(situation: Situation) -> Step:
    seen = situation.observation
    if seen is not None and seen.phase is Phase.RUNNING and seen.ready:
        return Step(Move(verb="workload.running", message="Running.", to=(S.RUNNING,)))
    if seen is not None and seen.phase in GONE - {Phase.ABSENT}:
        return _ended(situation, seen, "start_failed", "The server ended before it was ready.")
    if seen is not None and seen.reason is not None and seen.reason.code in UNHURRIED:
        return Step(reason=_reason(seen), pace=Pace.LATER, unhurried=True)
    if situation.late:
        return Step(_clean_up(_too_late(situation)))
    if seen is None:
        return Step(reason=_unavailable(situation), pace=Pace.LATER)
    reason = _reason(seen) or Reason(code="starting", message="The server is starting.")
    return Step(reason=reason, pace=Pace.LATER if situation.watched else Pace.SOON)


def _running(situation: Situation) -> Step:
    seen = situation.observation
    if seen is None:
        return Step(pace=Pace.LATER)
    if seen.phase is Phase.ABSENT:
        return Step(_clean_up(Reason(code="lost", message="Nothing of it is left on its cluster.")))
    if seen.phase in GONE:
        return _ended(situation, seen, "ended_by_itself", "The server ended by itself.")
    over = any(task.phase in (Phase.SUCCEEDED, Phase.FAILED) and task.log for task in seen.tasks)
    return Step(pace=Pace.SOON if over else Pace.LISTED if seen.mark else Pace.LATER)


def _stopping(situation: Situation) -> Step:
    seen = situation.observation
    removing = call_for(S.STOPPING, situation.desired, situation.ends_as, has_run=situation.has_run) is Call.ABSENT
    if seen is not None and (seen.phase is Phase.ABSENT or (not removing and seen.phase in GONE)):
        ends_as = situation.ends_as
        move = Move(
            verb=f"workload.{ends_as}",
            message=_LAST_WORDS.get(ends_as, "Stopped. Its disk stays."),
            to=(ends_as,),
            keeps_reason=True,
        )
        return Step(move, pace=Pace.NEVER)
    if seen is None:
        return Step(reason=_retrying("stopping", situation) if situation.late else None, pace=Pace.LATER)
    late = Reason(code="stopping_slowly", message="It takes long to end. It still holds its capacity.")
    return Step(reason=late if situation.late else None)


def _deleting(situation: Situation) -> Step:
    seen = situation.observation
    if seen is not None and seen.phase is Phase.ABSENT:
        return Step(Move(verb="workload.deleted", message="Deleted.", to=(S.DELETED,)), pace=Pace.NEVER)
    if seen is None:
        return Step(reason=_retrying("deleting", situation), pace=Pace.LATER)
    late = Reason(code="deleting_slowly", message="It takes long to end. It still holds its capacity.")
    return Step(reason=late if situation.late else Reason(code="deleting", message="Its processes are ending."))


def _ended(situation: Situation, seen: Observation, code: str, message: str) -> Step:
    """It ended unasked. FAILED: its own fault. STOPPED: somebody ended it, or the platform went down with it."""
    reason = _reason(seen) or Reason(code=code, message=message)
    if situation.trying is not None and seen.phase is not Phase.STOPPED:
        return _attempt_ended(situation.trying, seen, reason)
    if seen.phase is Phase.FAILED:
        return Step(_clean_up(reason, seen.log_tail))
    stays_wished = reason.code in COMES_BACK
    return Step(
        Move(
            verb="workload.ended",
            message=reason.message,
            to=(S.STOPPING,),
            reason=reason,
            desired=None if stays_wished else DesiredState.STOPPED,
            ends_as=S.STOPPED,
        )
    )


def _attempt_ended(trying: Trying, seen: Observation, reason: Reason) -> Step:
    """A job has come to an end of its own. What never ran (an image that is not there) is not tried again."""
    ran = seen.started_at is not None and seen.exit_code is not None
    follows = what_follows(trying.job, exit_code=seen.exit_code, failures=trying.failures) if ran else Next.FAIL
    if follows is Next.FAIL:
        return Step(_clean_up(_of_tasks(trying.job, seen) or reason, seen.log_tail))
    if follows is Next.DONE:
        done = Reason(code="completed", message=f"It has done its work (exit code {seen.exit_code}).")
        move = Move(
            verb="workload.completed",
            message=done.message,
            to=(S.STOPPING,),
            reason=done,
            desired=DesiredState.STOPPED,
            ends_as=S.SUCCEEDED,
        )
        return Step(move)
    failures = trying.failures + 1
    again = trying.now + back_off(failures)
    message = (
        f"{reason.message} Failure {failures} of the {trying.job.retries + 1} that it may have:"
        f" it is tried again at {again:%H:%M:%S} UTC."
    )
    move = Move(
        verb="workload.attempt_failed",
        message=message,
        to=(S.STOPPING,),
        reason=Reason(code=Waits.RETRYING, message=message),
        ends_as=S.STOPPED,
        sets=(("failures", failures), ("retry_at", again)),
        log=seen.log_tail[-_LAST_LINES:],
    )
    return Step(move)


def _of_tasks(job: JobSpec, seen: Observation) -> Reason | None:
    """How many tasks of an array failed."""
    failed = [task for task in seen.tasks if task.phase is Phase.FAILED]
    if job.array is None or not failed:
        return None
    first = min(failed, key=lambda task: (task.ended_at is None, task.ended_at or task.started_at, task.index))
    message = (
        f"{len(failed)} of {job.array.count} tasks failed, task {first.index} first (exit code {first.exit_code})."
    )
    return Reason(code="tasks_failed", message=message)


def _clean_up(reason: Reason, log: tuple[str, ...] = ()) -> Move:
    return Move(
        verb="workload.failing",
        message=reason.message,
        to=(S.STOPPING,),
        reason=reason,
        ends_as=S.FAILED,
        log=log[-_LAST_LINES:],
    )


def _too_late(situation: Situation) -> Reason:
    seen = _reason(situation.observation) if situation.observation else None
    if seen is not None and seen.code in KEPT_WAITING:
        return seen
    why = f" Last: {seen.message}" if seen else f" {situation.trouble}" if situation.trouble else ""
    return Reason(code="start_timeout", message=f"It did not come up in time.{why}")


def _unavailable(situation: Situation) -> Reason:
    return Reason(code="cluster_unreachable", message=f"Its cluster does not answer: {situation.trouble}")


def _retrying(doing: str, situation: Situation) -> Reason:
    return Reason(
        code=f"{doing}_retrying",
        message=f"{doing.capitalize()} (retrying): its cluster does not answer: {situation.trouble}",
        ask="the platform team",
    )


def _reason(seen: Observation) -> Reason | None:
    return Reason(code=seen.reason.code, message=seen.reason.message) if seen.reason else None
