"""How states, reasons and rules read on a page. Pure, but for the zone of who looks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils import timezone

from provisioning.enums import Activity, Kind, Outcome, Rule, Source, State, Waits

if TYPE_CHECKING:
    from provisioning.models import Workload

_STATES = {
    State.REQUESTED: ("wait", "Requested"),
    State.QUEUED: ("wait", "Queued"),
    State.PROVISIONING: ("wait", "Starting"),
    State.RUNNING: ("good", "Running"),
    State.STOPPING: ("wait", "Stopping"),
    State.STOPPED: ("off", "Stopped"),
    State.SUCCEEDED: ("good", "Done"),
    State.FAILED: ("bad", "Failed"),
    State.DELETING: ("wait", "Deleting"),
    State.DELETED: ("off", "Deleted"),
}
_WAITS = {
    Waits.AWAITING_APPROVAL: "Awaiting approval",
    Waits.LENT_OUT: "Waiting for its share",
    Waits.PREEMPTED: "Waiting for room",
}
_KINDS = {Kind.WORKSPACE: "Workspace", Kind.JOB: "Job", Kind.CLUSTER: "Cluster"}
_OUTCOMES = {
    Outcome.WAITING: ("off", "Waiting"),
    Outcome.RUNNING: ("wait", "Running"),
    Outcome.SUCCEEDED: ("good", "Done"),
    Outcome.FAILED: ("bad", "Failed"),
    Outcome.INTERRUPTED: ("off", "Interrupted"),
    Outcome.STOPPED: ("off", "Stopped"),
}
_RULES = {Rule.IDLE: "if idle", Rule.LIFETIME: "at its longest life"}
_SOURCES = {
    Source.START: "it started",
    Source.KERNEL: "a kernel worked",
    Source.TERMINAL: "a terminal worked",
    Source.PROCESS: "a process worked",
}
_VERDICTS = {
    Activity.ACTIVE: "at work",
    Activity.IDLE: "quiet",
    Activity.UNKNOWN: "not known: it is not stopped for that",
}


def state_words(state: str, reason: Mapping[str, object] | None = None) -> tuple[str, str]:
    """Tone and word of a state. What waits for somebody's word, or for what is lent, says so."""
    if state == State.REQUESTED and (code := (reason or {}).get("code")) in _WAITS:
        return "wait", _WAITS[Waits(str(code))]
    return _STATES[State(state)]


def standing_words(workload: Workload) -> tuple[str, str]:
    """The same of a workload: what will be tried again says when, in the person's zone."""
    if not retries_later(workload):
        return state_words(workload.state, workload.reason)
    at = workload.retry_at
    return "wait", f"Waiting to retry at {timezone.localtime(at):%H:%M:%S}" if at else "Waiting to retry"


def retries_later(workload: Workload) -> bool:
    """Whether it rests only until it is tried again."""
    return workload.state == State.STOPPED and (workload.reason or {}).get("code") == Waits.RETRYING


def why_words(workload: Workload) -> str:
    """Its reason, without what the state says already."""
    if not retries_later(workload):
        return reason_message(workload.reason)
    first = reason_message(workload.reason).partition(" Failure ")[0]
    left = retries_words(workload.job.retries, workload.failures) if workload.job else ""
    return f"{first} {left}."


def retries_words(retries: int, failures: int) -> str:
    """ "2 of 3 retries left"; of a job that asked for none, that it has none."""
    left = max(retries - failures, 0)
    if not retries:
        return "No retries"
    return f"{left} of {retries} retries left" if retries > 1 else f"{left} of 1 retry left"


def kind_word(kind: str) -> str:
    return _KINDS[Kind(kind)]


def shape_words(workload: Workload) -> str:
    """Its shape, and how many of it it takes."""
    array = workload.job is not None and workload.job.array is not None
    label, many = (
        workload.shape.label,
        "nodes" if workload.kind == Kind.CLUSTER else "tasks at once" if array else "workers",
    )
    return f"{workload.replicas} {many}, each {label}" if workload.replicas > 1 else label


def outcome_words(outcome: str) -> tuple[str, str]:
    """Tone and word of how an attempt ended."""
    return _OUTCOMES[Outcome(outcome)]


def reason_message(reason: Mapping[str, object] | None) -> str:
    return str((reason or {}).get("message", ""))


def reason_help(reason: Mapping[str, object] | None) -> str:
    """Whom to ask, where a reason names somebody."""
    ask = (reason or {}).get("ask")
    return f"Ask {ask}." if ask else ""


def rule_words(rule: Rule | None, policy: str = "") -> str:
    """By which rule it stops, and which policy set that."""
    words = _RULES.get(rule, "") if rule else ""
    return f"{words}, by the rule {policy}" if policy else words


def source_words(source: str) -> str:
    return _SOURCES[Source(source)]


def verdict_words(verdict: str) -> str:
    return _VERDICTS[Activity(verdict)]


def brief(length: timedelta) -> str:
    """ "1 h 30 min", without the parts that are nothing."""
    hours, rest = divmod(int(length.total_seconds()), 3600)
    minutes, seconds = divmod(rest, 60)
    parts = [f"{number:,} {unit}" for number, unit in ((hours, "h"), (minutes, "min"), (seconds, "s")) if number]
    return " ".join(parts) or "0 s"
