"""Waiting for one's own share: what others have borrowed is waited for, and nothing is held meanwhile.

What was launched as preemptible ends for a lender who waits, and comes back when there is room.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from core.errors import Refused
from core.types import Actor, Reason
from provisioning.enums import State, Waits
from provisioning.errors import NotAdmitted
from provisioning.models import Workload
from provisioning.services.transitions import transition
from provisioning.types import Move, Verdict

_OF_QUOTA = frozenset({"over_quota", "nothing_to_borrow", "kept_for_others", Waits.LENT_OUT})


def queue_or_wait(workload: Workload, move: Move, verdict: Verdict, *, actor: Actor, now: datetime) -> Workload:
    """Into the queue by this move; where all that is missing is lent out, it stops short and waits for it.

    The row is locked by the caller. Raises NotAdmitted where somebody took the quota in the meantime.
    """
    if verdict.lent:
        return _wait(workload, move, verdict.lent[0], actor=actor, now=now)
    try:
        return transition(workload, move, actor=actor, now=now)
    except Refused as refusal:
        if any(reason.code != Waits.LENT_OUT for reason in refusal.reasons):
            raise NotAdmitted(refusal.reasons, ref=workload.ref) from refusal
        return _wait(workload, move, refusal.reasons[0], actor=actor, now=now)


def waits_for(workload: Workload) -> str:
    """The code of what a requested workload waits for; empty for all others."""
    waits = workload.state == State.REQUESTED and workload.reason
    return str(workload.reason.get("code")) if waits and workload.reason else ""


def comes_back(workload: Workload, refusal: NotAdmitted) -> bool:
    """Whether a refused start only waits for room: quota is all that is missing to what was ended for a lender, or to
    the next attempt of a job."""
    comes_by_itself = (workload.reason or {}).get("code") in (Waits.PREEMPTED, Waits.RETRYING)
    return comes_by_itself and all(reason.code in _OF_QUOTA for reason in refusal.reasons)


def _wait(workload: Workload, move: Move, reason: Reason, *, actor: Actor, now: datetime) -> Workload:
    if waits_for(workload) == Waits.LENT_OUT:
        return _tell(workload, reason)
    held = replace(
        move,
        message=f"{move.message} It waits until enough of what is lent is back.",
        to=tuple(hop for hop in move.to if hop is not State.QUEUED),
        reason=reason,
    )
    return transition(workload, held, actor=actor, now=now)


def _tell(workload: Workload, reason: Reason) -> Workload:
    """It goes on waiting: the numbers, and by when, may have changed."""
    if workload.reason != reason.as_json():
        workload.reason, workload.version = reason.as_json(), workload.version + 1
        workload.save(update_fields=["reason", "version"])
    return workload
