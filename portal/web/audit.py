"""The audit log of the organisation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_GET

from core.models import AuditEvent, Outcome
from core.routes import route
from core.types import Actor
from tenants.enums import Permission
from tenants.permissions import authorize
from tenants.selectors import organization_of, people_by_id, people_matching

PAGE = 50
_WORDS = {Outcome.DONE: ("done", "good"), Outcome.DENIED: ("refused", "bad"), Outcome.FAILED: ("failed", "wait")}
_FILTERS = ("actor", "verb", "outcome", "from", "to")


@route(permission=Permission.VIEW_AUDIT, verb="audit.viewed")
@require_GET
def audit_list(request: HttpRequest) -> HttpResponse:
    """Newest first, filtered by who, what, outcome and day."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    authorize(actor, Permission.VIEW_AUDIT, organization_of(actor))
    chosen = {name: request.GET.get(name, "").strip() for name in _FILTERS}
    found = _filtered(AuditEvent.objects.filter(organization_id=actor.tenant_id), chosen)
    before = _as_uuid(request.GET.get("before", ""))
    rows = list((found.filter(pk__lt=before) if before else found).order_by("-id")[: PAGE + 1])
    shown = rows[:PAGE]
    people = people_by_id({one for row in shown for one in (row.actor_id, _person(row)) if one})
    names = {key: person.full_name for key, person in people.items()}
    context = {
        "events": [_event(row, names) for row in shown],
        "filters": {"verbs": _verbs(actor), "outcomes": [{"value": o, "label": _WORDS[o][0]} for o in Outcome]},
        "chosen": chosen,
        "page": {
            "previous": f"?{urlencode(chosen)}" if before else "",
            "next": f"?{urlencode({**chosen, 'before': str(shown[-1].pk)})}" if len(rows) > PAGE else "",
        },
        "zone": timezone.get_current_timezone_name(),
    }
    return render(request, "portal/audit/list.html", context)


def _filtered(found: QuerySet[AuditEvent], chosen: dict[str, str]) -> QuerySet[AuditEvent]:
    if chosen["verb"]:
        found = found.filter(verb=chosen["verb"])
    if chosen["outcome"] in {word for word, _ in _WORDS.values()}:
        found = found.filter(outcome=next(key for key, (word, _) in _WORDS.items() if word == chosen["outcome"]))
    elif chosen["outcome"] in Outcome.values:
        found = found.filter(outcome=chosen["outcome"])
    if chosen["actor"]:
        found = found.filter(actor_id__in=people_matching(chosen["actor"]))
    for name, lookup, edge in (("from", "at__gte", time.min), ("to", "at__lte", time.max)):
        day = _as_date(chosen[name], edge)
        if day is not None:
            found = found.filter(**{lookup: day})
    return found


def _person(row: AuditEvent) -> UUID | None:
    """The person that an event is about, where it is about one."""
    return _as_uuid(row.object_id) if row.object_kind == "person" else None


def _event(row: AuditEvent, names: Mapping[UUID, str]) -> dict[str, object]:
    name = names.get(row.actor_id, "") if row.actor_id else ""
    about = _person(row)
    label = (names.get(about, "") if about else "") or row.object_label or row.object_id
    word, tone = _WORDS[Outcome(row.outcome)]
    return {
        "id": row.pk,
        "at": row.at,
        "actor": name or row.actor_part or "Steelyard",
        "actor_kind": "" if name else "the platform",
        "verb": row.verb,
        "object": f"{row.object_kind} {label}".strip(),
        "object_url": "",
        "outcome": word,
        "tone": tone,
        "source": row.source_kind,
        "address": row.source_address,
        "reason": (row.reason or {}).get("message", ""),
        "changes": _changes(row.before or {}, row.after or {}),
    }


def _changes(before: dict[str, object], after: dict[str, object]) -> list[dict[str, object]]:
    return [
        {"field": field, "before": before.get(field, ""), "after": after.get(field, "")}
        for field in sorted({*before, *after})
    ]


def _verbs(actor: Actor) -> list[dict[str, str]]:
    verbs = AuditEvent.objects.filter(organization_id=actor.tenant_id).values_list("verb", flat=True).distinct()
    return [{"value": verb, "label": verb} for verb in sorted(verbs)]


def _as_uuid(word: str) -> UUID | None:
    try:
        return UUID(word)
    except ValueError:
        return None


def _as_date(word: str, edge: time) -> datetime | None:
    try:
        day = parse_date(word)
    except ValueError:
        return None
    return timezone.make_aware(datetime.combine(day, edge)) if day else None
