"""The first page: what one runs, what it costs, what is left."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from billing.selectors import month_to_date
from core.money import Money
from core.routes import ANONYMOUS, route
from core.types import Actor
from portal.web.here import project_here
from portal.web.numbers import exactly, rate
from portal.web.quotas_shown import resource_words
from portal.web.workloads.rows import Standing, rows_context, standing_of, with_relations
from provisioning.selectors.workloads import living_workloads_visible_to
from tenants.selectors import quota_lines

_MINE = 10


@route(permission=ANONYMOUS, verb="home.viewed")
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Visitors are sent to the door; people without an organisation are told whom to ask."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not request.user.is_authenticated:
        return redirect_to_login("/")
    if actor.organization_id is None:
        return render(request, "portal/no_organization.html")
    now = timezone.now()
    mine = with_relations(living_workloads_visible_to(actor).filter(owner_id=actor.person_id))[:_MINE]
    standing = standing_of(actor, now)
    resting, currency = standing.resting, standing.currency
    cost, exact = _month(actor, now, currency)
    project = project_here(request)
    context = {
        "greeting": f"{_greeting(timezone.localtime(now).hour)}, {request.user.full_name.split(' ')[0]}",
        "summary": _summary(standing),
        "running": standing.running,
        "rate": rate(standing.hourly, currency) if standing.running else None,
        "month": timezone.localtime(now).strftime("%B"),
        "month_cost": cost,
        "month_exact": exact,
        "stopped": resting,
        "stopped_rate": rate(standing.resting_hourly, currency) if resting else None,
        **rows_context(actor, list(mine), f"{reverse('workloads')}?mine=1"),
        "quota_project": project.name if project else "",
        "quotas": [
            {
                "label": resource_words(line.resource)[0],
                "unit": resource_words(line.resource)[1],
                "used": line.used,
                "limit": line.limit,
                "asked": 0,
            }
            for line in (quota_lines(project.pk).values() if project else ())
        ],
    }
    return render(request, "portal/home.html", context)


def _month(actor: Actor, now: datetime, currency: str) -> tuple[Money, str]:
    so_far = month_to_date(actor, now)
    return so_far.total, exactly(sum((row.exact for row in so_far.by_project.rows), Fraction(0)), currency)


def _greeting(hour: int) -> str:
    if hour < 5 or hour >= 22:
        return "Good night"
    if hour < 12:
        return "Good morning"
    return "Good afternoon" if hour < 18 else "Good evening"


def _summary(standing: Standing) -> str:
    return f"{standing.words}." if standing.words else "Nothing runs. Launch something to begin."
