"""What people wish for a workload that exists: start, stop, delete, keep, rename. The reconciler makes it so."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import IntegrityError, transaction

from core.errors import FieldError, Forbidden, Invalid, NotFound, Stale
from core.money import Money
from core.types import Actor, Reason
from provisioning.durations import duration
from provisioning.enums import DesiredState, Kind, State, VolumeState
from provisioning.errors import NameTaken, NotAdmitted, WrongState
from provisioning.models import Workload
from provisioning.naming import NAME_CONSTRAINT, NAME_RULE, is_name
from provisioning.permissions import authorize_act, may_operate
from provisioning.selectors.catalogue import active_shapes, prices_for
from provisioning.selectors.launching import Chosen, judge
from provisioning.selectors.workloads import final_end_of, workload_for
from provisioning.services import awaiting
from provisioning.services.holdings import claim_of
from provisioning.services.ruled import note_observed, price_of_launch, set_limits
from provisioning.services.shares import queue_or_wait
from provisioning.services.transitions import locked, transition
from provisioning.types import ClusterSpec, Move, Verdict, WorkloadSpec
from tenants.enums import ApprovalState, Permission
from tenants.selectors import organization_of
from tenants.types import Claim

if TYPE_CHECKING:
    from tenants.models import Approval

S = State
_GONE = (S.DELETING, S.DELETED)
_WAITING = (S.REQUESTED, S.QUEUED)
_PLACED = (S.PROVISIONING, S.RUNNING)
_RESTING = (S.STOPPED, S.FAILED)


@transaction.atomic
def start(*, actor: Actor, workload_id: UUID, now: datetime, version: int | None = None) -> Workload:
    """Run again, also after a failure. Admission looks again and may refuse: NotAdmitted with every reason.

    Where approval is all that is missing and nobody has given it for this workload, it is asked for.

    A workload that is still stopping is admitted when it has stopped; one that runs goes on.
    """
    workload = _for_act(actor, workload_id, version)
    _refuse(workload, {*_GONE, S.SUCCEEDED}, "cannot be started")
    if workload.state not in _RESTING:
        wish = Move(
            verb="workload.start_requested",
            message="" if workload.desired_state == DesiredState.RUNNING else "Start asked for.",
            desired=DesiredState.RUNNING,
            keeps_reason=True,
        )
        return transition(workload, wish, actor=actor, now=now)
    return readmit(workload, actor=actor, now=now)


@transaction.atomic
def readmit(workload: Workload, *, actor: Actor, now: datetime) -> Workload:
    """Take a resting workload through admission again and queue it, or let it wait: for approval, or its own share.

    The row is locked by the caller. One that waits and goes on waiting is left as it is.
    """
    verdict, price = _judged(workload, _held_by(workload), actor=actor, now=now)
    if verdict.denied:
        raise NotAdmitted(verdict.failing, ref=workload.ref)
    set_limits(workload, verdict.limits)
    if verdict.awaits:
        known = awaiting.latest(workload)
        if not awaiting.covers(known, workload, verdict, price=price):
            return _wait(workload, verdict, known, price=price, actor=actor, now=now)
    elif workload.state == S.REQUESTED:
        awaiting.give_up(workload, now=now)
    note_observed(workload, verdict, actor=actor, now=now)
    move = Move(
        verb="workload.start_requested",
        message="Start asked for.",
        to=(S.QUEUED,) if workload.state == S.REQUESTED else (S.REQUESTED, S.QUEUED),
        desired=DesiredState.RUNNING,
        reason=verdict.waits,
        ends_as=S.STOPPED,
        sets=() if actor.is_system or not workload.failures else (("failures", 0), ("retry_at", None)),
    )
    return queue_or_wait(workload, move, verdict, actor=actor, now=now)


def is_still_admitted(workload: Workload, *, actor: Actor, now: datetime) -> bool:
    """Whether the rules, as they are now, let what has queued start; their limits are set. The row is locked."""
    verdict, price = _judged(workload, claim_of(workload), actor=actor, now=now)
    if verdict.denied or verdict.lent:
        return False
    if verdict.awaits and not awaiting.covers(awaiting.latest(workload), workload, verdict, price=price):
        return False
    set_limits(workload, verdict.limits)
    return True


def _judged(workload: Workload, held: Claim, *, actor: Actor, now: datetime) -> tuple[Verdict, Money]:
    """What admission says to it now, and its price; `held`: what of its quota it holds already."""
    spec = _spec_of(workload)
    prices = prices_for([workload.shape, *active_shapes()], organization_of(actor).currency, now)
    picked = Chosen(shape=workload.shape, image=workload.image, volume=workload.volume, prices=prices)
    verdict = judge(actor, workload.project, spec, picked, now=now, owner_id=workload.owner_id, held=held)
    return verdict, price_of_launch(picked, spec.disk_gib, spec.replicas)


def _wait(
    workload: Workload, verdict: Verdict, known: Approval | None, *, price: Money, actor: Actor, now: datetime
) -> Workload:
    """Ask for approval, unless this is asked already."""
    if workload.state == S.REQUESTED and known is not None and known.state == ApprovalState.OPEN:
        return workload
    awaiting.ask(workload, verdict, actor=actor, justification="", price=price, now=now)
    move = Move(
        verb="workload.start_requested",
        message="Start asked for. It waits for approval.",
        to=() if workload.state == S.REQUESTED else (S.REQUESTED,),
        desired=DesiredState.RUNNING,
        reason=awaiting.reason_of(verdict),
        ends_as=S.STOPPED,
    )
    return transition(workload, move, actor=actor, now=now)


@transaction.atomic
def stop(*, actor: Actor, workload_id: UUID, now: datetime, version: int | None = None) -> Workload:
    """End what runs and keep the files. In the queue or while it starts this cancels; what is stopped stays so."""
    workload = _for_act(actor, workload_id, version)
    _refuse(workload, {*_GONE, S.SUCCEEDED}, "cannot be stopped")
    reason = Reason(code="stopped_by_person", message="Stopped on request.")
    return end(workload, verb="workload.stop_requested", message="Stop asked for.", reason=reason, actor=actor, now=now)


def end(
    workload: Workload,
    *,
    verb: str,
    message: str,
    reason: Reason,
    actor: Actor,
    now: datetime,
    ends_as: State = S.STOPPED,
) -> Workload:
    """The wish to stop, from whatever state; the row is locked by the caller. `ends_as`: as what, if it runs."""
    to: tuple[State, ...] = ()
    if workload.state == S.REQUESTED:
        awaiting.give_up(workload, now=now)
    if workload.state in _WAITING:
        to = (S.STOPPED,)
    elif workload.state in _PLACED:
        to = (S.STOPPING,)
    move = Move(
        verb=verb,
        message=message if to else "",
        to=to,
        reason=reason if to else None,
        keeps_reason=not to,
        desired=DesiredState.STOPPED,
        ends_as=ends_as if to else None,
    )
    return transition(workload, move, actor=actor, now=now)


@transaction.atomic
def delete(*, actor: Actor, workload_id: UUID, now: datetime, version: int | None = None) -> Workload:
    """Remove the workload, whatever it does. Its disk can be brought back for seven days. Twice deletes once."""
    workload = _for_act(actor, workload_id, version)
    gone = workload.state in _GONE
    if workload.state == S.REQUESTED:
        awaiting.give_up(workload, now=now)
    move = Move(
        verb="workload.delete_requested",
        message="" if gone else "Delete asked for.",
        to=() if gone else (S.DELETING,),
        keeps_reason=gone,
        desired=DesiredState.DELETED,
    )
    return transition(workload, move, actor=actor, now=now)


@transaction.atomic
def force_delete(*, actor: Actor, workload_id: UUID, now: datetime, version: int | None = None) -> Workload:
    """Give up on a cluster that does not answer: what may be left there is recorded as a leak, and ended when found.

    For those who operate the project, and only once a delete is under way. Billing ends at the last certain sight.
    """
    workload = _for_act(actor, workload_id, version)
    if not may_operate(actor, workload):
        raise Forbidden(Permission.OPERATE_WORKLOAD, workload.ref, ask="an admin of the project")
    if workload.state != S.DELETING:
        raise WrongState(f"{workload.name} is {workload.state}: only a delete that hangs can be forced.")
    reason = Reason(code="leak_recorded", message="Deleted by force. Its cluster did not confirm that nothing is left.")
    move = Move(verb="workload.force_deleted", message=reason.message, to=(S.DELETED,), reason=reason)
    return transition(workload, move, actor=actor, now=now)


@transaction.atomic
def extend(*, actor: Actor, workload_id: UUID, now: datetime, version: int | None = None) -> Workload:
    """Keep a running workload: no rule stops it before the extension is over."""
    workload = _for_act(actor, workload_id, version)
    if workload.state != S.RUNNING:
        raise WrongState(f"{workload.name} does not run: there is nothing to keep.")
    until = max(now + duration("EXTEND_BY"), workload.stop_extended_until or now)
    final = final_end_of(workload)
    if final is not None and final <= now + duration("WARN_BEFORE_STOP"):
        raise WrongState(f"The rule {workload.lifetime_rule} ends it at {final:%H:%M} UTC. It cannot be kept longer.")
    until = min(until, final) if final is not None else until
    move = Move(
        verb="workload.extended",
        message=f"Kept until {until:%H:%M} UTC on {until:%-d %B %Y}.",
        keeps_reason=True,
        sets=(("stop_extended_until", until), ("warned_at", None)),
    )
    return transition(workload, move, actor=actor, now=now)


@transaction.atomic
def rename(*, actor: Actor, workload_id: UUID, name: str, now: datetime, version: int | None = None) -> Workload:
    """Another name. Usage that was weighed under the old one keeps it."""
    workload = _for_act(actor, workload_id, version)
    _refuse(workload, set(_GONE), "cannot be renamed")
    if not is_name(name):
        raise Invalid([FieldError("name", "malformed", NAME_RULE)])
    move = Move(
        verb="workload.renamed",
        message=f"Renamed from {workload.name} to {name}.",
        keeps_reason=True,
        sets=(("name", name),),
    )
    try:
        with transaction.atomic():
            return transition(workload, move, actor=actor, now=now)
    except IntegrityError as error:
        if NAME_CONSTRAINT not in str(error):
            raise
        raise NameTaken(f"There is a workload called {name} in this project. Choose another name.") from error


def _for_act(actor: Actor, workload_id: UUID, version: int | None) -> Workload:
    """The locked row, if the actor may act on it and it is the version that the caller read."""
    workload_for(actor, workload_id)
    workload = locked(workload_id)
    if workload is None:
        raise NotFound("workload", workload_id)
    authorize_act(actor, workload)
    if version is not None and workload.version != version:
        raise Stale("The workload has changed since you read it. Read it again, then decide.")
    return workload


def _refuse(workload: Workload, states: set[State], what: str) -> None:
    if workload.state in states:
        raise WrongState(f"{workload.name} is {workload.state} and {what}.")


def _spec_of(workload: Workload) -> WorkloadSpec:
    return WorkloadSpec(
        kind=workload.kind,
        shape=workload.shape.slug,
        image=workload.image.slug,
        disk_gib=workload.volume.size_gib,
        name=workload.name,
        env=dict(workload.env),
        labels=dict(workload.spec.get("labels") or {}),
        preemptible=workload.preemptible,
        job=workload.job,
        cluster=ClusterSpec(workload.replicas) if workload.kind == Kind.CLUSTER else None,
    )


def _held_by(workload: Workload) -> Claim:
    present = workload.volume.state == VolumeState.PRESENT
    return Claim((("storage_gib", workload.volume.size_gib),)) if present else Claim(())
