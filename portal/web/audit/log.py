"""The log itself: search, and one entry with everything that is known of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from core.acts import SourceKind
from core.audit_search import matching, verbs_of
from core.errors import NotFound
from core.models import AuditEvent, AuditView, Outcome
from core.routes import route
from core.types import Actor
from portal.audit_filters import as_uuid, chosen_of, search_of
from portal.web.audit import rows
from tenants.enums import Permission
from tenants.permissions import authorize, holds
from tenants.selectors import organization_of
from tenants.selectors.names import names_of
from tenants.services.audit_log import views_visible_to

PAGE = 50
_MORE = ("on_behalf_of", "object_kind", "object", "source")
"""Filters that stand behind “More”."""


@dataclass(frozen=True, slots=True)
class Log:
    """Where a log is shown: whose chain, and under which addresses."""

    organization_id: UUID
    url: str
    entry_route: str
    export_url: str
    also: Mapping[str, str] = field(default_factory=dict)
    """Query fields besides the filters."""


@route(permission=Permission.VIEW_AUDIT, verb="audit.viewed")
@require_GET
def audit_list(request: HttpRequest) -> HttpResponse:
    """Newest first; htmx gets the entries alone."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    organization = organization_of(actor)
    authorize(actor, Permission.VIEW_AUDIT, organization)
    log = Log(organization.pk, reverse("audit"), "audit-event", reverse("audit-export"))
    chosen = chosen_of(request.GET)
    context = page_of(log, chosen, before=request.GET.get("before", ""))
    manages = holds(actor, Permission.MANAGE_AUDIT, organization)
    context |= {"views": _views(actor, manages), "save_url": reverse("audit-view-save"), "manages": manages}
    if request.headers.get("HX-Target") == "events":
        return render(request, "portal/audit/_events.html", context)
    ways = {"streams_url": reverse("audit-streams"), "keeping_url": reverse("audit-keeping")}
    return render(request, "portal/audit/list.html", {**context, **choices(log), **ways})


@route(permission=Permission.VIEW_AUDIT, verb="audit.viewed")
@require_GET
def audit_event(request: HttpRequest, event_id: UUID) -> HttpResponse:
    """One entry. Raises NotFound for another organisation's."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    row = AuditEvent.objects.filter(organization_id=actor.tenant_id, pk=event_id).first()
    if row is None:
        raise NotFound("audit_event", event_id)
    authorize(actor, Permission.VIEW_AUDIT, organization_of(actor))
    return render(request, "portal/audit/event.html", entry_context(row, reverse("audit")))


def page_of(log: Log, chosen: Mapping[str, str], *, before: str) -> dict[str, object]:
    """A page of entries that fit, and the ways on from it. Inside a scope that may see the chain."""
    start = as_uuid(before)
    found = matching(log.organization_id, search_of(chosen))
    found = (found.filter(pk__lt=start) if start else found).order_by("-id")
    cut = list(found[: PAGE + 1])
    shown = cut[:PAGE]
    kept = {**log.also, **chosen}
    return {
        "events": rows.entries_of(shown, route=log.entry_route),
        "chosen": chosen,
        "narrowed": bool(chosen),
        "kept": json.dumps(chosen),
        "list_url": log.url,
        "clear_url": f"{log.url}?{urlencode(log.also)}",
        "page": {
            "previous": f"{log.url}?{urlencode(kept)}" if start else "",
            "next": f"{log.url}?{urlencode({**kept, 'before': str(shown[-1].pk)})}" if len(cut) > PAGE else "",
        },
        "exports": [
            {"label": label, "url": f"{log.export_url}?{urlencode({**kept, 'format': name})}"}
            for name, label in (("csv", "CSV"), ("jsonl", "JSON Lines"))
        ],
        "zone": timezone.get_current_timezone_name(),
    }


def choices(log: Log) -> dict[str, object]:
    """What the form offers to choose from."""
    known = verbs_of(log.organization_id)
    groups = sorted({f"{verb.partition('.')[0]}.*" for verb in known})
    return {
        "verbs": [*groups, *known],
        "outcomes": [{"value": value.value, "label": rows.OUTCOMES[value][0]} for value in Outcome],
        "sources": [kind.value for kind in SourceKind],
    }


def entry_context(row: AuditEvent, list_url: str) -> dict[str, object]:
    names = names_of(rows.people_in([row]))
    return {
        "entry": rows.entry_of(row, names),
        "row": row,
        "sealed": {"hash": bytes(row.hash).hex(), "previous": bytes(row.prev_hash).hex()}
        if row.hash is not None and row.prev_hash is not None
        else None,
        "reason": dict(row.reason or {}),
        "list_url": list_url,
        "object_log_url": f"{list_url}?{urlencode({'object': row.object_id})}" if row.object_id else "",
        "actor_log_url": f"{list_url}?{urlencode({'actor': str(row.actor_id)})}" if row.actor_id else "",
        "request_log_url": f"{list_url}?{urlencode({'q': row.request_id})}" if row.request_id else "",
        "zone": timezone.get_current_timezone_name(),
    }


def _views(actor: Actor, manages: bool) -> list[dict[str, object]]:
    return [
        {
            "name": view.name,
            "url": f"{reverse('audit')}?{urlencode(view.query)}",
            "shared": view.shared,
            "remove_url": reverse("audit-view-remove", args=[view.pk]) if _may_remove(view, actor, manages) else "",
            "id": view.pk,
        }
        for view in views_visible_to(actor)
    ]


def _may_remove(view: AuditView, actor: Actor, manages: bool) -> bool:
    return view.owner_id == actor.id or (view.shared and manages)
