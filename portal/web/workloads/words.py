"""How states, reasons and rules read on a page. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from provisioning.enums import Activity, Rule, Source, State, Waits

_STATES = {
    State.REQUESTED: ("wait", "Requested"),
    State.QUEUED: ("wait", "Queued"),
    State.PROVISIONING: ("wait", "Starting"),
    State.RUNNING: ("good", "Running"),
    State.STOPPING: ("wait", "Stopping"),
    State.STOPPED: ("off", "Stopped"),
    State.SUCCEEDED: ("good", "Succeeded"),
    State.FAILED: ("bad", "Failed"),
    State.DELETING: ("wait", "Deleting"),
    State.DELETED: ("off", "Deleted"),
}
_WAITS = {
    Waits.AWAITING_APPROVAL: "Awaiting approval",
    Waits.LENT_OUT: "Waiting for its share",
    Waits.PREEMPTED: "Waiting for room",
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
