"""One workload: its page and the parts of it that keep themselves up to date."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from billing.selectors import usage_sessions_visible_to
from billing.selectors.usage import session_costs
from core.money import settle, settle_parts
from core.routes import route
from core.types import Actor
from portal.templatetags.look import duration as duration_words
from portal.web.numbers import exactly, rate
from portal.web.workloads.inside import inside_context
from portal.web.workloads.job_page import attempts_context, job_context, log_asked, log_context, tasks_context
from portal.web.workloads.rows import launch_url_for
from portal.web.workloads.words import (
    kind_word,
    reason_help,
    retries_later,
    rule_words,
    shape_words,
    source_words,
    standing_words,
    verdict_words,
    why_words,
)
from provisioning.enums import Kind, State, VolumeState
from provisioning.permissions import may_act, may_enter, may_operate
from provisioning.selectors.catalogue import prices_for
from provisioning.selectors.spans import extension, volume_kept, warning
from provisioning.selectors.workloads import final_end_of, latest_activity, stop_forecast, timeline, workload_for
from provisioning.types import NEWEST
from tenants.enums import Permission
from tenants.selectors import people_by_id

if TYPE_CHECKING:
    from provisioning.models import ActivitySample, Event, Workload
    from provisioning.types import StopForecast

_OVER = (State.STOPPED, State.FAILED, State.SUCCEEDED)
_ENDABLE = (State.REQUESTED, State.QUEUED, State.PROVISIONING, State.RUNNING)
_GONE = (State.DELETING, State.DELETED)
_UNRULED = {
    Kind.WORKSPACE: "Only what runs is stopped by a rule.",
    Kind.CLUSTER: "Only what runs is stopped by a rule.",
    Kind.JOB: "A job ends when its command does. It is not stopped for being quiet.",
}
_BAD_WORDS = ("fail", "timeout", "refused", "lost")


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.viewed")
@require_GET
def workload_detail(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """The whole page."""
    workload = _found(request, workload_id)
    context = {
        **_head(request, workload),
        **_timeline(workload),
        **_cost(request, workload),
        **_stops(workload),
        **_activity(workload),
        **job_context(workload),
        **attempts_context(workload),
        **inside_context(workload.pk),
        **tasks_context(workload),
        **log_context(workload.pk, log_asked(request) if workload.kind == Kind.JOB else NEWEST),
        "disk": f"{workload.volume.size_gib} GiB",
        "kept_days": volume_kept().days,
        "rate_stopped": _rates(workload)[1],
    }
    return render(request, "portal/workloads/detail.html", context)


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.viewed")
@require_GET
def head_part(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """State and buttons; 304 while the row's version stands."""
    workload = _found(request, workload_id)
    return _part(request, "_head", workload, _head(request, workload))


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.viewed")
@require_GET
def timeline_part(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    workload = _found(request, workload_id)
    return _part(request, "_timeline", workload, _timeline(workload) | {"urls": _urls(workload)})


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.viewed")
@require_GET
def cost_part(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    workload = _found(request, workload_id)
    context = _cost(request, workload) | {"urls": _urls(workload)}
    return render(request, "portal/workloads/_cost.html", context)


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.viewed")
@require_GET
def stops_part(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    workload = _found(request, workload_id)
    context = _stops(workload) | _head(request, workload)
    return render(request, "portal/workloads/_stops.html", context)


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.viewed")
@require_GET
def warning_part(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """What stands above everything once a rule is about to stop it."""
    workload = _found(request, workload_id)
    context = _stops(workload) | _head(request, workload)
    return render(request, "portal/workloads/_warning.html", context)


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.viewed")
@require_GET
def activity_part(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    workload = _found(request, workload_id)
    context = _activity(workload) | {"urls": _urls(workload)}
    return render(request, "portal/workloads/_activity.html", context)


def _found(request: HttpRequest, workload_id: UUID) -> Workload:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return workload_for(actor, workload_id)


def _part(request: HttpRequest, name: str, workload: Workload, context: dict[str, object]) -> HttpResponse:
    """A live part that changes with the row's version alone."""
    tag = f'"{workload.pk.hex}-{workload.version}{name}"'
    if request.headers.get("If-None-Match") == tag:
        response = HttpResponse(status=304)
    else:
        response = render(request, f"portal/workloads/{name}.html", context)
    response["ETag"] = tag
    response["Cache-Control"] = "private, no-cache"
    return response


def _urls(workload: Workload) -> dict[str, str]:
    here = [workload.pk]
    parts = ("head", "timeline", "cost", "stops", "warning", "activity", "logs", "manifests")
    acts = ("open", "stop", "start", "keep", "delete", "force")
    return {"list": reverse("workloads")} | {name: reverse(f"workload-{name}", args=here) for name in (*parts, *acts)}


def _head(request: HttpRequest, workload: Workload) -> dict[str, object]:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    tone, word = standing_words(workload)
    acts, state = may_act(actor, workload), State(workload.state)
    over = workload.kind == Kind.JOB and state in _OVER and not retries_later(workload)
    again = launch_url_for(actor) if over else ""
    shown = {
        "id": workload.pk,
        "name": workload.name,
        "kind": workload.kind,
        "kind_word": kind_word(workload.kind),
        "shape": shape_words(workload),
        "simulated": workload.cluster.simulated_accelerators and workload.shape.accelerator_count > 0,
        "preemptible": workload.preemptible,
        "placement": workload.cluster.label,
        "owner": workload.owner.full_name,
        "project": workload.project.name,
        "tone": tone,
        "word": word,
        "reason": why_words(workload),
        "help": reason_help(workload.reason),
        "may_open": state is State.RUNNING and workload.kind != Kind.JOB and may_enter(actor, workload),
        "may_stop": acts and (state in _ENDABLE or retries_later(workload)),
        "may_start": acts and state is State.STOPPED,
        "may_retry": acts and state is State.FAILED,
        "may_keep": acts and state is State.RUNNING and _ends_by_itself(workload) and not _ends_finally(workload),
        "may_delete": acts and state not in _GONE,
        "may_force": state is State.DELETING and may_operate(actor, workload),
        "again_url": f"{again}?again={workload.pk}" if again else "",
    }
    return {"workload": shown, "urls": _urls(workload)}


def _timeline(workload: Workload) -> dict[str, object]:
    events = timeline(workload)
    people = people_by_id({event.actor_id for event in events if event.actor_id})
    names = {person_id: person.full_name for person_id, person in people.items()}
    newest = events[0].pk if events else None
    return {
        "events": [_moment(event, names, newest, workload.state) for event in events],
        "zone": timezone.get_current_timezone_name(),
    }


def _moment(event: Event, names: dict[UUID, str], newest: UUID | None, state: str) -> dict[str, object]:
    first, _, rest = event.message.partition(". ")
    by = f"by {names[event.actor_id]}" if event.actor_id in names else ""
    tone = "bad" if any(word in event.code for word in _BAD_WORDS) else ""
    if event.pk == newest and state == State.RUNNING:
        tone = "now"
    if event.pk == newest and state in (State.FAILED, State.SUCCEEDED):
        tone = "bad" if state == State.FAILED else "good"
    detail = " ".join(part for part in (rest, by) if part)
    return {"id": event.pk, "at": event.at, "title": first.rstrip("."), "detail": detail, "tone": tone}


def _rates(workload: Workload) -> tuple[object, object]:
    """Price per hour as it runs, and as it rests."""
    currency = workload.project.organization.currency
    prices = prices_for([workload.shape], currency, timezone.now())
    disk = (prices.disk_gib_hour or Fraction(0)) * workload.volume.size_gib
    return rate((prices.of_workload(workload) or Fraction(0)) + disk, currency), rate(disk, currency)


def _cost(request: HttpRequest, workload: Workload) -> dict[str, object]:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    now, currency = timezone.now(), workload.project.organization.currency
    sessions = list(usage_sessions_visible_to(actor).filter(workload_id=workload.pk).select_related("sku"))
    costs = session_costs([session.pk for session in sessions], now)
    by_label: dict[str, Fraction] = {}
    held: dict[str, timedelta] = {}
    for session in sessions:
        label = session.sku.label
        by_label[label] = by_label.get(label, Fraction(0)) + costs.get(session.pk, Fraction(0))
        held[label] = held.get(label, timedelta()) + ((session.during.upper or now) - session.during.lower)
    total = sum(by_label.values(), Fraction(0))
    settled = settle_parts(list(by_label.values()), currency)
    running, resting = _rates(workload)
    bound = workload.state in (State.PROVISIONING, State.RUNNING, State.STOPPING)
    return {
        "lines": [
            {
                "label": f"{label}, {duration_words(held[label])}",
                "amount": amount,
                "exact": exactly(by_label[label], currency),
            }
            for label, amount in zip(by_label, settled, strict=True)
        ],
        "so_far": settle(total, currency),
        "so_far_exact": exactly(total, currency),
        "rate": running if bound else resting if workload.volume.state == VolumeState.PRESENT else None,
        "charged_to": " · ".join(part for part in (workload.project.name, workload.project.cost_centre) if part),
        "usage_url": reverse("usage"),
        "as_of": now,
    }


def _stops(workload: Workload) -> dict[str, object]:
    found = stop_forecast(workload)
    if found is None:
        return {"stops": {"at": None, "rule": _UNRULED[Kind(workload.kind)], "sign_at": None}}
    now = timezone.now()
    at = found.will_stop_at
    return {
        "stops": {
            "at": at,
            "rule": _rule(workload, found),
            "sign": source_words(found.source),
            "sign_at": found.last_activity_at if workload.kind != Kind.JOB else None,
            "soon": at is not None and at - now <= warning(),
            "keep_until": now + extension(),
        }
    }


def _rule(workload: Workload, found: StopForecast) -> str:
    if workload.kind == Kind.JOB and found.rule and not found.policy:
        return "That is as long as an attempt of it may take. It has failed then."
    if found.rule:
        return f"Stops {rule_words(found.rule, found.policy)}."
    return _UNRULED[Kind(workload.kind)]


def _ends_by_itself(workload: Workload) -> bool:
    """Whether there is an end that one click could put off."""
    found = stop_forecast(workload)
    return found is not None and found.will_stop_at is not None


def _ends_finally(workload: Workload) -> bool:
    """Whether a policy ends it sooner than one click could keep it."""
    final = final_end_of(workload)
    return final is not None and final <= timezone.now() + extension()


def _activity(workload: Workload) -> dict[str, object]:
    sample = latest_activity(workload)
    if sample is None or workload.state != State.RUNNING:
        return {"signals": [], "verdict": "unknown", "verdict_words": ""}
    return {
        "signals": _signals(sample),
        "verdict": sample.verdict,
        "verdict_words": verdict_words(sample.verdict),
    }


def _signals(sample: ActivitySample) -> Sequence[dict[str, object]]:
    counts = (
        ("Kernels at work", sample.busy_kernels),
        ("Terminals at work", sample.busy_terminals),
        ("Other processes", sample.detached),
        ("Open connections", sample.connections),
    )
    rows: list[dict[str, object]] = [{"label": label, "word": str(count)} for label, count in counts]
    return [*rows, {"label": "Looked at", "word": "", "at": sample.at}]
