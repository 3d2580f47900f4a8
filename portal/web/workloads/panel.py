"""What the launch panel says of a dry run. Pure but for addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from urllib.parse import urlencode

from django.urls import reverse

from billing.types import Hourly
from core.errors import Refused
from core.money import Money, settle
from portal.templatetags.look import rate as rate_words
from portal.web.numbers import rate
from portal.web.quotas_shown import level_words, resource_words
from portal.web.workloads.commands import shown, surprise
from portal.web.workloads.launch_form import CARRIED
from portal.web.workloads.words import brief
from provisioning.enums import Kind, Starts
from provisioning.selectors.launching import Preview
from provisioning.types import JobSpec, WorkloadSpec

_TAKEN = "Its capacity may be taken back at any time, with half a minute's notice (SIGTERM). "
_SPOT = {
    Kind.JOB: _TAKEN
    + "It then starts again on its disk when there is room, from its last checkpoint. No retry is spent.",
    Kind.WORKSPACE: _TAKEN + "What runs in it ends then, its files stay, and it starts again when there is room.",
    Kind.CLUSTER: _TAKEN + "What runs in it ends then, and it starts again when there is room.",
}
_ADDRESS_HOLDS = 4_000
"""Characters. What is longer is left out of an address."""


def panel_of(
    found: Preview, spec: WorkloadSpec, *, asked: Mapping[str, object], refusal: Refused | None = None
) -> dict[str, object]:
    """The context of `_panel.html` for a preview; `refusal`: what the launch itself was told a moment ago."""
    running, stopped = _rate(found.running), _rate(found.stopped)
    return {
        "verdict": _verdict(found, refusal),
        "runs": _runs(spec.job) if spec.job else None,
        "spot": _SPOT[Kind(spec.kind)] if found.spot else "",
        "warnings": [reason.message for reason in found.verdict.warnings],
        "quotas": [
            {
                "label": resource_words(quota.resource)[0] + level_words(quota.level, quota.place),
                "unit": resource_words(quota.resource)[1],
                "used": quota.used,
                "limit": quota.limit,
                "asked": quota.asked,
            }
            for quota in found.quotas
        ],
        "costs": _parts(found, spec),
        "rate": running,
        "rate_stopped": stopped,
        "longest": _longest(found.running, spec.job),
        "month": found.running.per_month if found.running else None,
        "alternatives": [
            {
                "title": f"{other.shape.label} would start now",
                "detail": _difference(price, found.running),
                "url": f"{reverse('launch')}?{urlencode({**_carried(asked), 'shape': other.shape.slug})}",
            }
            for other, price in found.alternatives[:2]
        ],
    }


def panel_of_refusal(messages: Sequence[str]) -> dict[str, object]:
    """For a form that says something that cannot be meant yet."""
    return {
        "verdict": {"tone": "bad", "title": "Not yet", "reasons": list(messages), "allowed": False},
        "runs": None,
        "spot": "",
        "warnings": [],
        "quotas": [],
        "costs": [],
        "rate": None,
        "rate_stopped": None,
        "longest": None,
        "month": None,
        "alternatives": [],
    }


def _verdict(found: Preview, refusal: Refused | None) -> dict[str, object]:
    verdict = found.verdict
    reasons = refusal.reasons if refusal else verdict.failing if verdict.denied else ()
    if reasons:
        asks = {reason.ask for reason in reasons if reason.ask}
        words = [reason.message for reason in reasons] + [f"Ask {ask}." for ask in sorted(asks)]
        return {"tone": "bad", "title": "Cannot be launched", "reasons": words, "allowed": not verdict.reasons}
    if verdict.awaits:
        who = "Two people" if verdict.deciders > 1 else "Somebody"
        words = [reason.message for reason in verdict.approvals]
        detail = f"{who} who may decide it must agree first. It holds nothing until then."
        return {"tone": "wait", "title": "Needs approval", "reasons": [*words, detail], "allowed": True, "asks": True}
    if verdict.starts is Starts.NOW:
        return {"tone": "good", "title": "Starts now", "detail": _left(found), "allowed": True}
    if verdict.lent:
        words = [reason.message for reason in verdict.lent]
        detail = "It holds nothing and costs nothing until then, and starts by itself. What was launched as preemptible"
        detail += " on your share ends for it within a minute."
        return {"tone": "wait", "title": "Waits for its share", "reasons": [*words, detail], "allowed": True}
    waits = verdict.waits.message if verdict.waits else "Waits for capacity."
    return {"tone": "wait", "title": "Queues", "detail": f"{waits} {_left(found)}", "allowed": True}


def _left(found: Preview) -> str:
    accelerators = [quota for quota in found.quotas if quota.resource.startswith("accelerators/")]
    if not accelerators:
        return "In about 10 s."
    quota = min(accelerators, key=lambda each: each.left)
    label = resource_words(quota.resource)[0]
    return f"In about 10 s. {quota.left} {label} are left in the quota, {quota.left_after} after."


def _rate(hourly: Hourly | None) -> Money | None:
    return rate(hourly.exact, hourly.currency) if hourly else None


def _runs(job: JobSpec) -> dict[str, object]:
    """The command as it was read, and what happens to it."""
    words, left_out = shown(job.command)
    workers = "One worker" if job.workers == 1 else f"{job.workers:,} workers, all at once"
    if job.array is not None:
        workers = f"{job.array.count:,} tasks, {job.replicas:,} at once; each"
    tries = "tried once" if not job.retries else f"tried up to {job.retries + 1} times"
    return {
        "words": words,
        "left_out": left_out,
        "surprise": surprise(job.command),
        "how": f"{workers}{' ' if job.array else '; '}{tries}.",
    }


def _parts(found: Preview, spec: WorkloadSpec) -> list[dict[str, object]]:
    if found.running is None or found.stopped is None:
        return []
    hardware = Hourly(found.running.exact - found.stopped.exact, found.running.currency)
    many = "workers" if spec.cluster is None else "nodes"
    many = "tasks at once" if spec.job is not None and spec.job.array is not None else many
    times = f" of {spec.replicas:,} {many}" if spec.replicas > 1 else ""
    note = ", simulated" if found.simulated else ""
    return [
        {"label": f"Hardware{times}{note}", "rate": _rate(hardware)},
        {"label": f"Disk, {spec.disk_gib} GiB", "rate": _rate(found.stopped)},
    ]


def _longest(running: Hourly | None, job: JobSpec | None) -> dict[str, object] | None:
    """What an attempt costs that lasts as long as it may."""
    if running is None or job is None or job.max_duration is None:
        return None
    hours = Fraction(int(job.max_duration.total_seconds()), 3600)
    return {"time": brief(job.max_duration), "cost": settle(running.exact * hours, running.currency)}


def _difference(other: Hourly | None, asked: Hourly | None) -> str:
    if other is None or asked is None:
        return ""
    less = asked.exact - other.exact
    price = rate(abs(less), asked.currency)
    return f"{rate_words(price)} an hour {'less' if less > 0 else 'more'} than what you asked for."


def _carried(asked: Mapping[str, object]) -> dict[str, str]:
    words = {name: str(asked[name]) for name in CARRIED if asked.get(name)}
    return {name: value for name, value in words.items() if len(value) <= _ADDRESS_HOLDS}
