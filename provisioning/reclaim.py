"""When a workload stops by itself. Pure: a reading, the rules and the clock give one verdict."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from provisioning.enums import Activity, Rule, Source
from provisioning.types import Life, ReclaimVerdict, Signals, StopForecast, StopRules

UNREAD_FOR: Final = timedelta(minutes=5)
LEFT_ALONE: Final = timedelta(minutes=30)


def verdict(life: Life, signals: Signals | None, rules: StopRules, *, now: datetime, warned: bool) -> ReclaimVerdict:
    """What the rules say now. `signals` None: the probe failed; that is unknown, and the idle rule stops nothing on it.

    An idle workload stops at the first tick at or after its time; one that reached its lifetime at the first tick
    after it.
    """
    seen = _with(life, signals)
    activity = _activity(seen, signals, rules, now)
    coming = forecast(seen, rules)
    due = [each for each in _forecasts(seen, rules) if _is_due(each, activity, now)]
    return ReclaimVerdict(
        activity=activity,
        life=seen,
        forecast=due[0] if due else coming,
        stop=bool(due),
        warn=not due and not warned and _is_near(coming, signals, rules, now),
    )


def forecast(life: Life, rules: StopRules) -> StopForecast:
    """When it will stop, by the earlier rule, if nothing happens until then.

    A person's wish to keep it moves both, but never beyond a lifetime that a policy sets.
    """
    coming = _forecasts(life, rules)
    return coming[0] if coming else StopForecast(None, None, life.last_activity_at, life.last_source)


def next_look(judged: ReclaimVerdict, rules: StopRules, *, now: datetime) -> datetime:
    """When the rules must know again what it does: where a warning or a stop may come due, at each tick in between,
    and in the middle of a long time without either. What cannot be read is asked again sooner."""
    stops = [each.will_stop_at for each in _forecasts(judged.life, rules) if each.will_stop_at is not None]
    if any(stop - rules.warn_before <= now <= stop for stop in stops):
        return now
    longest = LEFT_ALONE
    if rules.idle_after is not None:
        longest = UNREAD_FOR if judged.activity is Activity.UNKNOWN else max(rules.idle_after / 2, UNREAD_FOR)
    coming = [at for stop in stops for at in (stop - rules.warn_before, stop) if at > now]
    return min([now + longest, *coming])


def _forecasts(life: Life, rules: StopRules) -> list[StopForecast]:
    """One for each rule that is on, the earliest first."""
    times = []
    if rules.idle_after is not None:
        times.append((life.last_activity_at + rules.idle_after, Rule.IDLE, rules.idle_rule))
    if rules.max_lifetime is not None:
        times.append((life.started_at + rules.max_lifetime, Rule.LIFETIME, rules.lifetime_rule))
    found = [_forecast(life, at, rule, policy) for at, rule, policy in sorted(times)]
    return sorted(found, key=lambda each: each.will_stop_at or life.started_at)


def _forecast(life: Life, at: datetime, rule: Rule, policy: str) -> StopForecast:
    final = rule is Rule.LIFETIME and bool(policy)
    if life.extended_until is not None and not final:
        at = max(at, life.extended_until)
    return StopForecast(at, rule, life.last_activity_at, life.last_source, policy)


def _is_due(coming: StopForecast, activity: Activity, now: datetime) -> bool:
    if coming.will_stop_at is None:
        return False
    if coming.rule is Rule.LIFETIME:
        return now > coming.will_stop_at
    return now >= coming.will_stop_at and activity is Activity.IDLE


def _is_near(coming: StopForecast, signals: Signals | None, rules: StopRules, now: datetime) -> bool:
    """Whether to warn: not of an idle stop while work goes on, nor while nobody can tell."""
    if coming.will_stop_at is None or now < coming.will_stop_at - rules.warn_before:
        return False
    return coming.rule is Rule.LIFETIME or (signals is not None and _working(signals) is None)


def _with(life: Life, signals: Signals | None) -> Life:
    """The last sign of work, moved on by what the reading says. Work that goes on now counts as now."""
    if signals is None:
        return life
    source = _working(signals)
    if source is not None and signals.at > life.last_activity_at:
        return replace(life, last_activity_at=signals.at, last_source=source)
    if signals.last_activity is not None and signals.last_activity > life.last_activity_at:
        return replace(life, last_activity_at=min(signals.last_activity, signals.at), last_source=signals.last_source)
    return life


def _working(signals: Signals) -> Source | None:
    if signals.busy_kernels:
        return Source.KERNEL
    if signals.busy_terminals:
        return Source.TERMINAL
    return Source.PROCESS if signals.detached else None


def _activity(life: Life, signals: Signals | None, rules: StopRules, now: datetime) -> Activity:
    if signals is None:
        return Activity.UNKNOWN
    if _working(signals) is not None:
        return Activity.ACTIVE
    if rules.idle_after is not None and now < life.last_activity_at + rules.idle_after:
        return Activity.ACTIVE
    return Activity.IDLE
