"""Activity: what probes say, the warning before a stop by rule, and the stop."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from core import acts, scope
from core.acts import Source, SourceKind
from core.types import Actor, Reason, system_actor
from provisioning.enums import Kind, Rule, State
from provisioning.models import ActivitySample, Workload
from provisioning.reclaim import next_look, verdict
from provisioning.selectors.workloads import life_of, rules_of
from provisioning.services.transitions import locked, note
from provisioning.services.wishes import end
from provisioning.types import ReclaimVerdict, Signals

SAMPLE_AT_LEAST_EVERY = timedelta(minutes=5)
_WHY = {
    Rule.IDLE: "Stopped by the idle rule: no kernel, terminal or process has worked since {since:%H:%M} UTC.",
    Rule.LIFETIME: "Stopped by the lifetime rule: it has run as long as a workload may.",
}
_IDLE_CLUSTER = "Stopped by the idle rule: no task has run on it or waited since {since:%H:%M} UTC."
_OF_A_JOB = "Ended by the lifetime rule: this attempt has run as long as it may."


def take_in(
    *, organization_id: UUID, workload_id: UUID, signals: Signals | None, now: datetime
) -> ReclaimVerdict | None:
    """Judge one reading of a running workload (None: the probe failed), warn or stop. Opens its own act and scope."""
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
        workload = locked(workload_id)
        life = life_of(workload) if workload is not None else None
        if workload is None or life is None or workload.state != State.RUNNING:
            return None
        warned = workload.warned_at is not None
        rules = rules_of(workload)
        judged = verdict(life, signals, rules, now=now, warned=warned)
        Workload.objects.filter(pk=workload_id).update(probe_at=next_look(judged, rules, now=now))
        if workload.kind != Kind.JOB:
            _remember(workload, signals, judged, now)
        actor = system_actor("reclaim", organization_id)
        if judged.stop:
            _stop(workload, judged, actor, now)
        elif judged.warn:
            _warn(workload, judged, actor, now)
        return judged


def _remember(workload: Workload, signals: Signals | None, judged: ReclaimVerdict, now: datetime) -> None:
    moved = judged.life.last_activity_at != workload.last_activity_at
    if moved:
        workload.last_activity_at, workload.last_activity_source = judged.life.last_activity_at, judged.life.last_source
        workload.warned_at = None
        workload.save(update_fields=["last_activity_at", "last_activity_source", "warned_at"])
    sample = ActivitySample(
        organization_id=workload.organization_id, workload=workload, at=now, verdict=judged.activity, **_counts(signals)
    )
    last = ActivitySample.objects.filter(workload=workload).order_by("-at").first()
    if last is None or now - last.at >= SAMPLE_AT_LEAST_EVERY or _differs(last, sample):
        sample.save(force_insert=True)


def _counts(signals: Signals | None) -> dict[str, int]:
    if signals is None:
        return {}
    return {
        "busy_kernels": signals.busy_kernels,
        "busy_terminals": signals.busy_terminals,
        "detached": signals.detached,
        "connections": signals.connections,
    }


def _differs(one: ActivitySample, other: ActivitySample) -> bool:
    names = ("verdict", "busy_kernels", "busy_terminals", "detached", "connections")
    return any(getattr(one, name) != getattr(other, name) for name in names)


def _stop(workload: Workload, judged: ReclaimVerdict, actor: Actor, now: datetime) -> None:
    rule = judged.forecast.rule
    assert rule is not None
    message = _why(workload.kind, rule).format(since=judged.forecast.last_activity_at)
    if judged.forecast.policy:
        message = f"{message} Rule: {judged.forecast.policy}."
    reason = Reason(code=rule.value, message=message)
    ends_as = State.FAILED if workload.kind == Kind.JOB else State.STOPPED
    end(
        workload,
        verb="workload.stopped_by_rule",
        message=message,
        reason=reason,
        actor=actor,
        now=now,
        ends_as=ends_as,
    )


def _why(kind: str, rule: Rule) -> str:
    if kind == Kind.JOB:
        return _OF_A_JOB
    return _IDLE_CLUSTER if kind == Kind.CLUSTER and rule is Rule.IDLE else _WHY[rule]


def _warn(workload: Workload, judged: ReclaimVerdict, actor: Actor, now: datetime) -> None:
    at, rule = judged.forecast.will_stop_at, judged.forecast.rule
    policy = judged.forecast.policy
    what = f"the rule {policy}" if policy else f"the {rule} rule"
    final = policy and rule is Rule.LIFETIME
    keep = "It cannot be kept longer: save your work." if final else "Keep it with one click."
    message = f"It will stop at {at:%H:%M} UTC by {what}. {keep}"
    Workload.objects.filter(pk=workload.pk).update(warned_at=now, version=workload.version + 1)
    note(workload, actor, "stop_warning", message, at=now, details={"rule": str(rule), "will_stop_at": str(at)})
