"""The list of workloads, and the rows of it that keep themselves up to date."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from billing.selectors import cost_so_far
from core.routes import route
from core.types import Actor
from portal.templatetags.look import rate as rate_words
from portal.web.numbers import exactly, rate
from portal.web.workloads.words import (
    kind_word,
    retries_later,
    rule_words,
    shape_words,
    standing_words,
    state_words,
    why_words,
)
from provisioning.enums import LIVING, Kind, State
from provisioning.selectors.catalogue import prices_for
from provisioning.selectors.workloads import living_workloads_visible_to, stop_forecast
from tenants.enums import Permission
from tenants.selectors import organization_of, projects_with

if TYPE_CHECKING:
    from provisioning.models import Workload

_PER_PAGE = 25
_SPEAKING = frozenset({State.RUNNING, State.SUCCEEDED})
"""States that need no reason beside their word."""
_RESTING = frozenset({State.STOPPED, State.FAILED, State.SUCCEEDED})


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.listed")
@require_GET
def workload_list(request: HttpRequest) -> HttpResponse:
    """Every living workload that the person may see, newest first; htmx gets the rows alone."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    chosen = {name: request.GET.get(name, "") for name in ("project", "kind", "state", "mine")}
    found = filtered(living_workloads_visible_to(actor), chosen)
    if chosen["mine"]:
        found = found.filter(owner_id=actor.person_id)
    page = Paginator(with_relations(found), _PER_PAGE).get_page(request.GET.get("page"))
    kept = urlencode({name: value for name, value in chosen.items() if value})
    context = rows_context(actor, list(page.object_list), f"{reverse('workloads')}?{kept}&page={page.number}")
    if request.headers.get("HX-Request") and not request.headers.get("HX-Boosted"):
        return render(request, "portal/workloads/_rows.html", context)
    context |= {
        "page": {
            "previous": f"?{kept}&page={page.previous_page_number()}" if page.has_previous() else "",
            "next": f"?{kept}&page={page.next_page_number()}" if page.has_next() else "",
        },
        "filters": {
            "projects": list(projects_with(actor, Permission.VIEW_WORKLOAD)),
            "kinds": [{"value": kind.value, "label": f"{kind_word(kind)}s"} for kind in Kind],
            "states": [{"value": state.value, "label": state_words(state)[1]} for state in State if state in LIVING],
        },
        "chosen": chosen,
        "summary": _summary(actor),
    }
    return render(request, "portal/workloads/list.html", context)


def filtered(found: QuerySet[Workload], chosen: dict[str, str]) -> QuerySet[Workload]:
    if chosen["project"]:
        found = found.filter(project__slug=chosen["project"])
    if chosen["kind"] in set(Kind):
        found = found.filter(kind=chosen["kind"])
    if chosen["state"] in set(State):
        found = found.filter(state=chosen["state"])
    return found


def with_relations(found: QuerySet[Workload]) -> QuerySet[Workload]:
    return found.select_related("project", "owner", "shape", "cluster")


def rows_context(actor: Actor, workloads: Sequence[Workload], rows_url: str) -> dict[str, object]:
    """What `_rows.html` shows. A constant number of queries."""
    now, currency = timezone.now(), organization_of(actor).currency
    costs = cost_so_far([workload.pk for workload in workloads], now)
    return {
        "rows": [
            _row(workload, costs[workload.pk].exact, costs[workload.pk].money, currency) for workload in workloads
        ],
        "rows_url": rows_url,
        "launch_url": launch_url_for(actor),
    }


def _row(workload: Workload, exact: Fraction, money: object, currency: str) -> dict[str, object]:
    tone, word = standing_words(workload)
    forecast = stop_forecast(workload)
    return {
        "id": workload.pk,
        "name": workload.name,
        "url": reverse("workload", args=[workload.pk]),
        "owner": workload.owner.full_name,
        "project": workload.project.name,
        "kind": kind_word(workload.kind),
        "shape": shape_words(workload),
        "simulated": workload.cluster.simulated_accelerators and workload.shape.accelerator_count > 0,
        "tone": tone,
        "word": word,
        "reason": why_words(workload) if workload.state not in _SPEAKING else "",
        "cost": money,
        "cost_exact": exactly(exact, currency),
        "stops_at": forecast.will_stop_at if forecast else None,
        "stops_why": rule_words(forecast.rule, forecast.policy) if forecast else "",
    }


def launch_url_for(actor: Actor) -> str:
    """Where the person may launch; "" for one who may not, so that no button leads to a refusal."""
    return reverse("launch") if projects_with(actor, Permission.LAUNCH_WORKLOAD).exists() else ""


@dataclass(frozen=True, slots=True)
class Standing:
    """What the workloads that a person sees do now, and what that costs in an hour, disks included."""

    running: int
    waiting: int
    stopped: int
    done: int
    failed: int
    resting: int
    hourly: Fraction
    resting_hourly: Fraction
    currency: str

    @property
    def words(self) -> str:
        """ "2 run, 1 waits, 3 are stopped, 2 are done, 1 has failed"; empty where there is none."""
        parts = (
            (self.running, "runs", "run"),
            (self.waiting, "waits", "wait"),
            (self.stopped, "is stopped", "are stopped"),
            (self.done, "is done", "are done"),
            (self.failed, "has failed", "have failed"),
        )
        return ", ".join(f"{number} {one if number == 1 else many}" for number, one, many in parts if number)


def standing_of(actor: Actor, now: datetime) -> Standing:
    currency = organization_of(actor).currency
    rows = list(living_workloads_visible_to(actor).select_related("shape", "volume"))
    prices = prices_for([workload.shape for workload in rows], currency, now)
    gib = prices.disk_gib_hour or Fraction(0)
    running = [workload for workload in rows if workload.state in (State.RUNNING, State.STOPPING)]
    resting = [workload for workload in rows if workload.state in _RESTING]
    retrying = sum(map(retries_later, resting))
    ended = Counter(workload.state for workload in resting)
    return Standing(
        running=len(running),
        waiting=len(rows) - len(running) - len(resting) + retrying,
        stopped=ended[State.STOPPED] - retrying,
        done=ended[State.SUCCEEDED],
        failed=ended[State.FAILED],
        resting=len(resting),
        hourly=sum(
            ((prices.of_workload(each) or Fraction(0)) + gib * each.volume.size_gib for each in running), Fraction(0)
        ),
        resting_hourly=sum((gib * each.volume.size_gib for each in resting), Fraction(0)),
        currency=currency,
    )


def _summary(actor: Actor) -> str:
    standing = standing_of(actor, timezone.now())
    if not standing.words:
        return "Workspaces and training jobs, on the hardware that you choose."
    price = rate_words(rate(standing.hourly, standing.currency))
    return f"{standing.words}." + (f" {price} an hour." if standing.running else "")
