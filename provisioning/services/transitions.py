"""The one way in which a workload changes: state, audit, timeline, quota, usage and capacity in one transaction."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction

from core import audit
from core.queue import enqueue_on_commit
from core.types import Actor, Json
from provisioning.durations import duration
from provisioning.enums import DesiredState, State, TaskName, Waits
from provisioning.lifecycle import ENDED, HOLDS, WORKLOAD, Holding
from provisioning.models import Event, Workload
from provisioning.selectors.lending import waiting
from provisioning.services import holdings
from provisioning.types import Move

_DEADLINES = {
    State.PROVISIONING: "START_DEADLINE",
    State.STOPPING: "STOP_DEADLINE",
    State.DELETING: "STOP_DEADLINE",
}


_HOLD = (Holding.ALL, Holding.AS_BEFORE)
_WOKEN_AT_ONCE = 20
_FOR_QUOTA = (Waits.LENT_OUT, Waits.PREEMPTED, Waits.RETRYING)


class Lost(RuntimeError):
    """The row changed under its own lock: it was never locked."""


def locked(workload_id: UUID) -> Workload | None:
    """The row under its lock. What hangs on it is read when it is needed: planning one join of everything costs the
    database more than all those reads."""
    return Workload.objects.select_for_update(no_key=True).filter(pk=workload_id).first()


@transaction.atomic
def transition(workload: Workload, move: Move, *, actor: Actor, now: datetime) -> Workload:
    """What `carry_out` does, and the reconciler is woken."""
    carry_out(workload, move, actor=actor, now=now)
    wake(workload)
    return workload


def carry_out(workload: Workload, move: Move, *, actor: Actor, now: datetime) -> None:
    """Compare and set, on a row that `locked` gave. The instant is now, but never before the last transition's.

    Writes the act's audit event, moves the quota (Refused where it falls short), opens or closes usage sessions,
    occupies or frees the cluster and adds a line to the timeline.
    """
    at = max(now, workload.state_since)
    before = State(workload.state)
    after = _walk(before, move.to)
    fields = holdings.follow(workload, holdings.Change(before=before, after=after, at=at, run=move.run))
    fields |= _wish(workload, move)
    if after is not before:
        fields |= {"state": after, "state_since": at, **_clock(after, at, fields.get("desired_state"), workload)}
    if move.reason is not None or (move.to and not move.keeps_reason):
        fields["reason"] = move.reason.as_json() if move.reason else None
    if move.ends_as is not None:
        fields["ends_as"] = move.ends_as
    fields |= dict(move.sets)
    old = _shown(workload, move)
    _compare_and_set(workload, before, fields)
    if move.message:
        note(workload, actor, move.verb, move.message, at=at, details=_details(move))
    audit.record(actor, move.verb, workload.ref, now=at, before=old, after=_shown(workload, move))
    if HOLDS[before] in _HOLD and HOLDS[after] not in _HOLD:
        _wake_waiting(workload)


def note(
    workload: Workload, actor: Actor, code: str, message: str, *, at: datetime, details: dict[str, Json] | None = None
) -> None:
    """A line of the timeline."""
    Event.objects.create(
        organization_id=workload.organization_id,
        workload=workload,
        at=at,
        code=code,
        message=message,
        actor_id=actor.id,
        details=details or {},
    )


def wake(workload: Workload) -> None:
    enqueue_on_commit(TaskName.RECONCILE_WORKLOAD, organization_id=workload.organization_id, workload_id=workload.pk)


def _wake_waiting(workload: Workload) -> None:
    """Quota came back: those who wait for what they have lent, or were ended for a lender, look if it is enough."""
    for lender in waiting(*_FOR_QUOTA)[:_WOKEN_AT_ONCE].values_list("pk", flat=True):
        enqueue_on_commit(TaskName.QUOTA_RETURNED, organization_id=workload.organization_id, workload_id=lender)


def _details(move: Move) -> dict[str, Json]:
    details: dict[str, Json] = move.reason.as_json() if move.reason else {}
    return {**details, "log": list(move.log)} if move.log else details


def _walk(before: State, hops: tuple[State, ...]) -> State:
    for hop in hops:
        WORKLOAD.require(before, hop)
        before = hop
    return before


def _wish(workload: Workload, move: Move) -> dict[str, object]:
    """A wish counts the generation up, also when it repeats the last one."""
    if move.desired is None:
        return {}
    return {"desired_state": move.desired, "generation": workload.generation + 1}


def deadline_of(state: State, since: datetime) -> datetime | None:
    """Until when a state that began then must have made progress."""
    return since + duration(_DEADLINES[state]) if state in _DEADLINES else None


def _clock(after: State, at: datetime, desired: object, workload: Workload) -> dict[str, object]:
    """When the new state is looked at next, and until when it must have made progress."""
    wanted = desired or workload.desired_state
    rests = after in ENDED and not (after is State.STOPPED and wanted == DesiredState.RUNNING)
    fields: dict[str, object] = {
        "due_at": None if rests else at,
        "deadline_at": deadline_of(after, at),
    }
    if after is State.QUEUED:
        fields["queued_at"] = at
    if after is State.RUNNING:
        fields["running_at"] = at
    return fields


def _compare_and_set(workload: Workload, before: State, fields: dict[str, object]) -> None:
    fields["version"] = workload.version + 1
    changed = Workload.objects.filter(pk=workload.pk, state=before, version=workload.version).update(**fields)
    if changed != 1:
        raise Lost(f"Workload {workload.pk} was changed outside its lock.")
    for name, value in fields.items():
        setattr(workload, name, value)


def _shown(workload: Workload, move: Move) -> dict[str, Json]:
    states: dict[str, Json] = {
        "state": str(workload.state),
        "desired_state": str(workload.desired_state),
        "reason": workload.reason,
    }
    return states | {name: _worded(getattr(workload, name)) for name, _ in move.sets}


def _worded(value: str | int | datetime | None) -> Json:
    return value.isoformat() if isinstance(value, datetime) else value
