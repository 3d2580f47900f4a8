"""Writing down what a step decided, if the lease is still ours."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum, auto

from core import acts, scope
from core.acts import Source, SourceKind
from core.queue import enqueue_on_commit
from core.types import Actor, Reason, system_actor
from provisioning.drivers.base import Observation, Phase
from provisioning.durations import duration
from provisioning.enums import ConditionStatus, ConditionType, DesiredState, State, TaskName, VolumeState
from provisioning.errors import NotAdmitted
from provisioning.models import Condition, Workload
from provisioning.reconciler.claims import Claimed
from provisioning.reconciler.policy import Call, Pace, Step
from provisioning.reconciler.queueing import admit_to_cluster
from provisioning.services import attempts, awaiting, inside, shares, tasks
from provisioning.services.transitions import carry_out, deadline_of, locked
from provisioning.services.wishes import is_still_admitted, readmit
from provisioning.types import Move, Run

_ALIVE = frozenset({Phase.STARTING, Phase.RUNNING, Phase.STOPPING})
_SLOWER = {Pace.SOON: 1, Pace.LATER: 10, Pace.SELDOM: 120, Pace.LISTED: 300}

_WAITED = ("waiting_in_queue", "waiting_for_capacity")
_JUDGED_AGAIN = Reason(code="judged_again", message="The rules have changed while it waited: it is judged again.")


class Turned(Enum):
    """What became of a turn. DUE: another one may follow at once. LOST: the lease is another's by now."""

    DUE = auto()
    RESTS = auto()
    LOST = auto()


def apply(
    claimed: Claimed, call: Call, step: Step, seen: Observation | None, *, trouble: str = "", now: datetime
) -> Turned:
    """One short transaction, one act. `trouble`: why the driver could not say.

    A step that was decided on a state which is no longer so is dropped: the next claim sees the new one. The
    generation stored is the one that was read, so that a wish made meanwhile is still due.
    """
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(claimed.organization_id):
        workload = locked(claimed.workload_id)
        if workload is None or workload.lease_token != claimed.token:
            return Turned.LOST
        if workload.state != claimed.state:
            _release(workload, claimed, {})
            return Turned.DUE
        actor = system_actor("reconciler", claimed.organization_id)
        if call is Call.READMIT:
            step = _readmit(workload, actor, now)
        else:
            step = _admit(workload, actor, now) if call is Call.ADMIT else step
            _perform(workload, claimed, step, seen, actor, now)
        if seen is not None:
            attempts.note(workload, seen, now=now)
            tasks.note(workload, seen, now=now)
            inside.keep(workload, seen.happenings)
        _note_conditions(workload, call, seen, trouble, now)
        _release(workload, claimed, _schedule(workload, step, seen, now))
        return Turned.DUE if _is_due(workload, now) else Turned.RESTS


def _is_due(workload: Workload, now: datetime) -> bool:
    """Whether to turn again at once, as of this transaction. A wish made after it sends a hint of its own."""
    return workload.observed_generation < workload.generation or (
        workload.due_at is not None and workload.due_at <= now
    )


def _perform(
    workload: Workload, claimed: Claimed, step: Step, seen: Observation | None, actor: Actor, now: datetime
) -> None:
    move = step.move
    if move is not None and move.desired is not None and workload.generation != claimed.generation:
        move = replace(move, desired=None)  # a newer wish is not overruled by what was seen before it
    run = _run_of(seen)
    if move is None and run is not None and _begins(workload, run):
        message = "The process has started: it is billed from here on."
        move = Move(verb="workload.bound", message=message, reason=step.reason)
    if move is not None:
        carry_out(workload, replace(move, run=run), actor=actor, now=_not_before(now, run))


def _admit(workload: Workload, actor: Actor, now: datetime) -> Step:
    """Out of the queue. What had to wait there is judged again: a rule, or what its project is, may have changed.

    Where the answer is no, it gives back what it holds in a turn of its own: the cluster is locked in this one, and
    quotas are locked before clusters.
    """
    code = (workload.reason or {}).get("code")
    if code == _JUDGED_AGAIN.code:
        return Step(Move(verb="workload.requeued", message=_JUDGED_AGAIN.message, to=(State.STOPPED, State.REQUESTED)))
    step = admit_to_cluster(workload)
    starts = step.move is not None and step.move.to == (State.PROVISIONING,)
    if starts and code in _WAITED and not is_still_admitted(workload, actor=actor, now=now):
        return Step(reason=_JUDGED_AGAIN)
    return step


def _readmit(workload: Workload, actor: Actor, now: datetime) -> Step:
    """A wish to run that waited: for the end of the last run, for approval, or for what is lent.

    A refusal is final: the wish is taken back.
    """
    over = awaiting.why_over(workload)
    if over is not None:
        return _give_up(workload, over, actor, now)
    if workload.state == State.STOPPED and workload.retry_at is not None and now < workload.retry_at:
        return Step(look_at=workload.retry_at)
    try:
        readmit(workload, actor=actor, now=now)
        if workload.state == State.REQUESTED:
            return Step(pace=Pace.SELDOM)
        return Step(Move(verb="workload.start_requested", message="", to=(State.QUEUED,)))
    except NotAdmitted as refusal:
        if shares.comes_back(workload, refusal):
            return _wait_for_room(workload, actor, now)
        reason = Reason(code="start_refused", message=refusal.message, ask=refusal.reasons[0].ask)
        move = Move(
            verb="workload.start_refused",
            message=refusal.message,
            to=(State.STOPPED,) if workload.state == State.REQUESTED else (),
            reason=reason,
            desired=DesiredState.STOPPED,
        )
        carry_out(workload, move, actor=actor, now=now)
        return Step(move, pace=Pace.NEVER)


def _wait_for_room(workload: Workload, actor: Actor, now: datetime) -> Step:
    """It was ended for a lender: quota is all that is missing, and it starts when that is there."""
    if workload.state == State.REQUESTED:
        return Step(pace=Pace.SELDOM)
    move = Move(
        verb="workload.requeued", message="Waits until there is room again.", to=(State.REQUESTED,), keeps_reason=True
    )
    carry_out(workload, move, actor=actor, now=now)
    return Step(move)


def _give_up(workload: Workload, reason: Reason, actor: Actor, now: datetime) -> Step:
    """What was refused or ran out has failed; what was taken back, or has files of an earlier run, is stopped."""
    fails = reason.code != "approval_withdrawn" and workload.volume.state == VolumeState.NEW
    move = Move(
        verb="workload.start_refused",
        message=reason.message,
        to=(State.FAILED if fails else State.STOPPED,),
        reason=reason,
        desired=DesiredState.STOPPED,
    )
    carry_out(workload, move, actor=actor, now=now)
    return Step(move, pace=Pace.NEVER)


def _begins(workload: Workload, run: Run) -> bool:
    return run.started_at is not None and run.incarnation != workload.incarnation and workload.placed_at is not None


def _run_of(seen: Observation | None) -> Run | None:
    if seen is None or seen.incarnation is None:
        return None
    return Run(incarnation=seen.incarnation, started_at=seen.started_at, ended_at=seen.ended_at)


def _not_before(now: datetime, run: Run | None) -> datetime:
    """The driver's instants are the past by the time that they are written down."""
    return max([now, *(at for at in (run.started_at, run.ended_at) if at is not None)]) if run else now


def _schedule(workload: Workload, step: Step, seen: Observation | None, now: datetime) -> dict[str, object]:
    """When to look next, why it waits, and that it was seen alive. A transition has set its own time already."""
    fields: dict[str, object] = {}
    if seen is not None and seen.phase in _ALIVE:
        fields["seen_at"] = now
    moved = step.move is not None and bool(step.move.to)
    fields["mark"] = "" if seen is None or moved else seen.mark
    if moved or step.pace is Pace.NEVER:
        if not moved:
            fields["due_at"] = None
        return fields
    every = duration("POLL_EVERY") * _SLOWER[step.pace]
    fields["due_at"] = step.look_at or _next_look(workload, now, every)
    if step.unhurried:
        fields["deadline_at"] = deadline_of(State(workload.state), now)
    reason = step.reason.as_json() if step.reason else None
    if reason is not None and reason != workload.reason:
        fields |= {"reason": reason, "version": workload.version + 1}
    if step.look_at is not None:
        _hint(workload, step.look_at - now)
    elif step.pace is Pace.SOON and workload.state != State.QUEUED:
        _hint(workload, every)
    return fields


def _next_look(workload: Workload, now: datetime, every: timedelta) -> datetime:
    """After the pause, but not past a deadline that is still to come."""
    coming = now + every
    if workload.deadline_at is not None and now < workload.deadline_at:
        return min(coming, workload.deadline_at)
    return coming


def _hint(workload: Workload, every: timedelta) -> None:
    enqueue_on_commit(
        TaskName.RECONCILE_WORKLOAD,
        countdown=every.total_seconds(),
        organization_id=workload.organization_id,
        workload_id=workload.pk,
    )


def _release(workload: Workload, claimed: Claimed, fields: dict[str, object]) -> None:
    fields["observed_generation"] = max(workload.observed_generation, claimed.generation)
    Workload.objects.filter(pk=workload.pk).update(lease_token=None, lease_until=None, **fields)
    for name, value in fields.items():
        setattr(workload, name, value)


def _note_conditions(workload: Workload, call: Call, seen: Observation | None, trouble: str, now: datetime) -> None:
    if call not in (Call.PRESENT, Call.OBSERVE, Call.STOP, Call.ABSENT):
        return
    reachable = ConditionStatus.TRUE if seen is not None else ConditionStatus.UNKNOWN
    ready, code = ConditionStatus.UNKNOWN, "cluster_unreachable"
    if seen is not None:
        ready = ConditionStatus.TRUE if seen.phase is Phase.RUNNING and seen.ready else ConditionStatus.FALSE
        code = ""
    known = {each.type: each for each in Condition.objects.filter(workload=workload)}
    changed = [
        _set_condition(workload, kind, status, known.get(kind), now=now, code=code, message=trouble[:500])
        for kind, status in ((ConditionType.REACHABLE, reachable), (ConditionType.READY, ready))
    ]
    if any(changed):
        workload.version += 1
        Workload.objects.filter(pk=workload.pk).update(version=workload.version)


def set_condition(
    workload: Workload,
    kind: ConditionType,
    status: ConditionStatus,
    *,
    now: datetime,
    code: str = "",
    message: str = "",
) -> bool:
    """Write a condition down if it has changed; `since` is when its status last did. True where it was new."""
    known = Condition.objects.filter(workload=workload, type=kind).first()
    return _set_condition(workload, kind, status, known, now=now, code=code, message=message)


def _set_condition(
    workload: Workload,
    kind: ConditionType,
    status: ConditionStatus,
    known: Condition | None,
    *,
    now: datetime,
    code: str = "",
    message: str = "",
) -> bool:
    if known is not None and (known.status, known.code, known.message) == (status, code, message):
        return False
    fields = {"status": status, "code": code, "message": message}
    if known is None:
        Condition.objects.create(
            organization_id=workload.organization_id, workload=workload, type=kind, since=now, **fields
        )
    else:
        since = known.since if known.status == status else now
        Condition.objects.filter(pk=known.pk).update(since=since, **fields)
    return True
