"""Streams of the audit log to a webhook: what state they are in, and every act on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from core.errors import Conflict, Invalid
from core.models import AuditStream
from core.refusals import note
from core.routes import route
from core.sealing import head_of
from core.types import Actor
from tenants.enums import Permission
from tenants.permissions import holds
from tenants.selectors import organization_of
from tenants.services import audit_log

_ACTS = ("change", "switch", "rotate", "test", "remove")


class StreamForm(forms.Form):
    name = forms.CharField(max_length=80, help_text="What receives it, such as “our SIEM”.")
    url = forms.CharField(max_length=500, label="Address", help_text="https://… It gets a POST with up to 100 entries.")
    from_start = forms.BooleanField(required=False, label="Send the whole log, not only what comes from now on")


@dataclass(frozen=True, slots=True)
class Line:
    """A stream as the page shows it. `behind`: entries that it has not taken yet."""

    id: UUID
    name: str
    url: str
    word: str
    tone: str
    reason: str
    behind: int
    delivered_at: datetime | None
    retry_at: datetime | None
    enabled: bool
    works: bool
    two_secrets_until: datetime | None
    urls: Mapping[str, str]


@route(permission=Permission.VIEW_AUDIT, verb="audit_stream.listed")
@require_GET
def stream_list(request: HttpRequest) -> HttpResponse:
    return _page(request)


@route(permission=Permission.MANAGE_AUDIT, verb="audit_stream.created")
@never_cache
@require_POST
def stream_new(request: HttpRequest) -> HttpResponse:
    """The secret is in this page and nowhere else."""
    form = StreamForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    try:
        _, secret = audit_log.create_stream(
            actor=_actor(request),
            name=form.cleaned_data["name"],
            url=form.cleaned_data["url"],
            from_start=form.cleaned_data["from_start"],
            now=timezone.now(),
        )
    except (Invalid, Conflict) as error:
        note(request, error)
        form.add_error(None, error.message)
        return _page(request, form, status=400 if isinstance(error, Invalid) else 409)
    return _page(request, secret=secret)


@route(permission=Permission.MANAGE_AUDIT, verb="audit_stream.changed")
@require_POST
def stream_change(request: HttpRequest, stream_id: UUID) -> HttpResponse:
    stream = audit_log.change_stream(
        actor=_actor(request),
        stream_id=stream_id,
        name=request.POST.get("name", ""),
        url=request.POST.get("url", "").strip(),
        now=timezone.now(),
    )
    messages.success(request, f"{stream.name} goes to {stream.url} now.")
    return redirect("audit-streams")


@route(permission=Permission.MANAGE_AUDIT, verb="audit_stream.changed")
@require_POST
def stream_switch(request: HttpRequest, stream_id: UUID) -> HttpResponse:
    """Off, on, or on again after a pause; it goes on where it stopped."""
    enabled = request.POST.get("enabled") == "on"
    stream = audit_log.change_stream(actor=_actor(request), stream_id=stream_id, enabled=enabled, now=timezone.now())
    messages.success(request, f"{stream.name} is {'on' if enabled else 'off'}.")
    return redirect("audit-streams")


@route(permission=Permission.MANAGE_AUDIT, verb="audit_stream.secret_rotated")
@never_cache
@require_POST
def stream_rotate(request: HttpRequest, stream_id: UUID) -> HttpResponse:
    _, secret = audit_log.rotate_secret(actor=_actor(request), stream_id=stream_id, now=timezone.now())
    return _page(request, secret=secret)


@route(permission=Permission.MANAGE_AUDIT, verb="audit_stream.tested")
@require_POST
def stream_test(request: HttpRequest, stream_id: UUID) -> HttpResponse:
    audit_log.test_stream(actor=_actor(request), stream_id=stream_id, now=timezone.now())
    messages.success(request, "A test entry is written. It goes out within seconds; the state below tells how it went.")
    return redirect("audit-streams")


@route(permission=Permission.MANAGE_AUDIT, verb="audit_stream.removed")
@require_POST
def stream_remove(request: HttpRequest, stream_id: UUID) -> HttpResponse:
    audit_log.remove_stream(actor=_actor(request), stream_id=stream_id, now=timezone.now())
    messages.success(request, "The stream is removed. What it has delivered stays with the receiver.")
    return redirect("audit-streams")


def _page(request: HttpRequest, form: StreamForm | None = None, *, secret: str = "", status: int = 200) -> HttpResponse:
    actor = _actor(request)
    found = list(audit_log.streams_of(actor))
    head = head_of(actor.tenant_id)
    now = timezone.now()
    context = {
        "streams": [_line(stream, head, now) for stream in found],
        "manages": holds(actor, Permission.MANAGE_AUDIT, organization_of(actor)),
        "form": form or StreamForm(),
        "secret": secret,
        "list_url": reverse("audit"),
        "streams_url": reverse("audit-streams"),
        "new_url": reverse("audit-stream-new"),
    }
    if request.headers.get("HX-Target") == "streams":
        return render(request, "portal/audit/_streams.html", context)
    return render(request, "portal/audit/streams.html", context, status=status)


def _line(stream: AuditStream, head: int, now: datetime) -> Line:
    behind = max(head - stream.cursor, 0)
    word, tone = _state(stream, behind)
    retrying = stream.enabled and not stream.paused_reason and stream.failures > 0
    both = stream.former_until if stream.former_until and stream.former_until > now else None
    return Line(
        id=stream.pk,
        name=stream.name,
        url=stream.url,
        word=word,
        tone=tone,
        reason=stream.paused_reason or (stream.last_error if retrying else ""),
        behind=behind,
        delivered_at=stream.delivered_at,
        retry_at=stream.due_at if retrying else None,
        enabled=stream.enabled,
        works=stream.enabled and not stream.paused_reason,
        two_secrets_until=both,
        urls={act: reverse(f"audit-stream-{act}", args=[stream.pk]) for act in _ACTS},
    )


def _state(stream: AuditStream, behind: int) -> tuple[str, str]:
    if not stream.enabled:
        return "Off", "off"
    if stream.paused_reason:
        return "Paused", "bad"
    if stream.failures:
        return "Trying again", "wait"
    return ("Delivering", "wait") if behind else ("Up to date", "good")


def _actor(request: HttpRequest) -> Actor:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor
