"""What the launch panel says of a dry run. Pure but for addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from django.urls import reverse

from billing.types import Hourly
from core.errors import Refused
from core.money import Money
from portal.templatetags.look import rate as rate_words
from portal.web.numbers import rate
from portal.web.quotas_shown import level_words, resource_words
from provisioning.enums import Starts
from provisioning.selectors.launching import Preview

_CARRIED = ("project", "image", "name", "disk_gib", "labels", "preemptible")


def panel_of(
    found: Preview, *, disk_gib: int, asked: Mapping[str, object], refusal: Refused | None = None
) -> dict[str, object]:
    """The context of `_panel.html` for a preview; `refusal`: what the launch itself was told a moment ago."""
    running, stopped = _rate(found.running), _rate(found.stopped)
    return {
        "verdict": _verdict(found, refusal),
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
        "costs": _parts(found, disk_gib),
        "rate": running,
        "rate_stopped": stopped,
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
        "warnings": [],
        "quotas": [],
        "costs": [],
        "rate": None,
        "rate_stopped": None,
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
        words = [f"Waits: {reason.message}" for reason in verdict.lent]
        detail = "It holds nothing and costs nothing until then, and starts by itself."
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


def _parts(found: Preview, disk_gib: int) -> list[dict[str, object]]:
    if found.running is None or found.stopped is None:
        return []
    hardware = Hourly(found.running.exact - found.stopped.exact, found.running.currency)
    note = ", simulated" if found.simulated else ""
    return [
        {"label": f"Hardware{note}", "rate": _rate(hardware)},
        {"label": f"Disk, {disk_gib} GiB", "rate": _rate(found.stopped)},
    ]


def _difference(other: Hourly | None, asked: Hourly | None) -> str:
    if other is None or asked is None:
        return ""
    less = asked.exact - other.exact
    price = rate(abs(less), asked.currency)
    return f"{rate_words(price)} an hour {'less' if less > 0 else 'more'} than what you asked for."


def _carried(asked: Mapping[str, object]) -> dict[str, str]:
    return {name: str(asked[name]) for name in _CARRIED if asked.get(name)}
