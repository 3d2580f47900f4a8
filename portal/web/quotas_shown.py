"""What the page of quotas says of each: by place, with who holds what, and what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.urls import reverse

from core.types import Actor
from tenants.enums import ApprovalKind, ApprovalState, Permission, QuotaLevel, Resource
from tenants.permissions import permissions_by_project, permissions_on
from tenants.selectors import held_of, organization_of, people_by_id, quotas_visible_to
from tenants.selectors.approvals import approvals_visible_to
from tenants.selectors.places import people_of, projects_counted, teams_visible_to
from tenants.selectors.quotas import Held, counting_in

if TYPE_CHECKING:
    from tenants.models import Approval, Project, Quota

RESOURCE_WORDS = {
    "workloads": ("Workloads", ""),
    "accelerators": ("All accelerators", "devices"),
    "vcpus": ("vCPU", ""),
    "memory_gib": ("Memory", "GiB"),
    "storage_gib": ("Storage", "GiB"),
    "tokens_per_minute": ("Tokens", "a minute"),
}
_TONES = {"open": "wait", "approved": "good", "refused": "bad"}
_WORDS = {"open": "waits", "approved": "approved", "refused": "refused", "expired": "ran out", "voided": "taken back"}
_MOST_REQUESTS = 10


def resource_words(resource: str) -> tuple[str, str]:
    """Label and unit of a quota's resource as pages write it."""
    base, _, model = resource.partition("/")
    return (model, "devices") if model else RESOURCE_WORDS.get(base, (base, ""))


def level_words(level: str, place: str) -> str:
    """What to add to a resource's label where the quota is not the project's own."""
    if level == QuotaLevel.PROJECT:
        return ""
    return {"organization": ", organisation", "user": ", yours"}.get(level, f", team {place}")


def page_of(actor: Actor, project: Project | None, *, now: datetime) -> dict[str, object]:
    """Everything that counts in a project, for a person: its own quotas, those above it, and the person's own."""
    rows = list(quotas_visible_to(actor).filter(counting_in(project)))
    held = held_of(rows)
    top = organization_of(actor)
    at_top = permissions_on(actor, top)
    there = permissions_by_project(actor, {project.pk})[project.pk] if project and not actor.is_system else frozenset()
    places: dict[tuple[int, str], dict[str, object]] = {}
    for row in rows:
        key, place = _place(row, actor)
        lines = places.setdefault(key, {**place, "quotas": []})["quotas"]
        assert isinstance(lines, list)
        may_ask = Permission.REQUEST_QUOTA in (there if row.project_id else at_top) or row.user_id == actor.id
        lines.append(_quota(row, held[row.pk], may_edit=_may_edit(row, at_top), may_ask=may_ask, now=now))
    return {
        "project": project.name if project else "",
        "places": [place for _, place in sorted(places.items(), key=lambda pair: pair[0])],
        **_requests(actor, decides=Permission.DECIDE_APPROVAL in at_top),
        "define": _define(actor) if Permission.MANAGE_QUOTA in at_top else "",
    }


def _place(row: Quota, actor: Actor) -> tuple[tuple[int, str], dict[str, object]]:
    """Where on the page: what binds the person's work first, then upwards."""
    decides = "An owner or admin of the organisation decides."
    match row.level:
        case QuotaLevel.PROJECT:
            assert row.project is not None
            return (0, row.project.slug), _named(f"Project {row.project.name}", "shared by all who work in it", decides)
        case QuotaLevel.USER:
            assert row.user is not None
            mine = row.user_id == actor.id
            who = "You" if mine else row.user.email
            return (1 if mine else 4, row.user.email), _named(who, "in all projects together", decides)
        case QuotaLevel.TEAM:
            assert row.team is not None
            return (2, row.team.slug), _named(f"Team {row.team.name}", "all its projects together", decides)
    name = f"Organisation {row.organization.name}"
    return (3, ""), _named(name, "never passed, whatever stands below", "The platform's administrator decides.")


def _named(title: str, aside: str, decides: str) -> dict[str, object]:
    return {"title": title, "aside": aside, "decides": decides}


def _may_edit(row: Quota, at_top: frozenset[Permission]) -> bool:
    return row.level is not QuotaLevel.ORGANIZATION and Permission.MANAGE_QUOTA in at_top


def _quota(row: Quota, held: Held, *, may_edit: bool, may_ask: bool, now: datetime) -> dict[str, object]:
    label, unit = resource_words(row.resource)
    over = row.raised_until is not None and row.falls_to is not None and row.raised_until <= now
    limit = row.falls_to if over and row.falls_to is not None else row.limit
    borrowed = max(row.used - limit, 0)
    return {
        "id": row.pk,
        "label": label,
        "unit": unit,
        "limit": limit,
        "least": limit + 1,
        "used": row.used,
        "running": row.used - held.reserved,
        "reserved": held.reserved,
        "borrowed": borrowed if row.borrow_limit else 0,
        "borrow_limit": row.borrow_limit,
        "lend_limit": row.lend_limit,
        "shares": row.level in (QuotaLevel.PROJECT, QuotaLevel.TEAM),
        "scale": limit + row.borrow_limit if borrowed else limit,
        "raised_until": None if over else row.raised_until,
        "falls_to": row.falls_to,
        "holders": [
            {"label": hold.label, "amount": hold.amount, "url": _holder_url(hold.kind, hold.id)} for hold in held.holds
        ],
        "edit_url": reverse("quota-limit", args=[row.pk]) if may_edit else "",
        "ask_url": reverse("quota-ask", args=[row.pk]) if may_ask and not may_edit else "",
    }


def _holder_url(kind: str, holder_id: UUID) -> str:
    if kind == "workload":
        return reverse("workload", args=[holder_id])
    return reverse("volumes") if kind == "volume" else ""


def _requests(actor: Actor, *, decides: bool) -> dict[str, object]:
    rows = list(approvals_visible_to(actor).filter(kind=ApprovalKind.QUOTA).order_by("-pk")[:_MOST_REQUESTS])
    people = people_by_id(row.asked_by for row in rows if row.asked_by)
    waits = any(row.state == ApprovalState.OPEN and row.asked_by != actor.id for row in rows)
    return {
        "requests": [_request(row, people[row.asked_by].email if row.asked_by in people else "") for row in rows],
        "inbox_url": reverse("approvals") if waits and decides else "",
    }


def _request(row: Approval, who: str) -> dict[str, object]:
    asked, until = row.payload, row.payload["until"]
    return {
        "place": asked["place"],
        "label": resource_words(asked["resource"])[0],
        "before": asked["limit_before"],
        "limit": asked["limit"],
        "until": datetime.fromisoformat(until) if until else None,
        "why": row.justification,
        "who": who,
        "at": row.created_at,
        "tone": _TONES.get(row.state, ""),
        "word": _WORDS[row.state],
    }


def _define(actor: Actor) -> dict[str, object]:
    """Places where a quota can be set, and names of resources."""
    people = sorted({(row.user_id, row.user.email) for row in people_of(actor)}, key=lambda pair: pair[1])
    places: Sequence[tuple[str, str]] = [
        *((f"project:{row.pk}", f"Project {row.name}") for row in projects_counted(actor) if row.closed_at is None),
        *((f"team:{row.pk}", f"Team {row.name}") for row in teams_visible_to(actor)),
        *((f"user:{key}", email) for key, email in people),
    ]
    return {"url": reverse("quota-define"), "places": places, "resources": Resource.values}
