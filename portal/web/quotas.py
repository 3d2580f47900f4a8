"""Quotas that count in a project: limits, what is used, reserved and borrowed, who holds it, and asking for more."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from core.errors import FieldError, Invalid
from core.routes import route
from core.types import Actor
from portal.web.here import project_here
from portal.web.quotas_shown import page_of, resource_words
from tenants.enums import Permission
from tenants.selectors.quotas import quota_place_for
from tenants.services import quota_requests, quotas

_LONGEST = 13


@route(permission=Permission.VIEW_QUOTA, verb="quota.viewed")
@require_GET
def quota_list(request: HttpRequest) -> HttpResponse:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    context = page_of(actor, project_here(request), now=timezone.now())
    return render(request, "portal/quotas/list.html", context)


@route(permission=Permission.MANAGE_QUOTA, verb="quota.limit_set")
@require_POST
def quota_limit(request: HttpRequest, quota_id: UUID) -> HttpResponse:
    said = request.POST
    lends = said.get("lend_limit")
    changed = quotas.set_limit(
        actor=request.actor,  # type: ignore[attr-defined]
        quota_id=quota_id,
        limit=_whole(said.get("limit", ""), "limit"),
        borrow_limit=_whole(said["borrow_limit"], "borrow_limit") if "borrow_limit" in said else quotas.KEEP,
        lend_limit=quotas.KEEP if lends is None else _whole(lends, "lend_limit") if lends.strip() else None,
        now=timezone.now(),
    )
    messages.success(request, f"{resource_words(changed.resource)[0]}: the limit is {changed.limit:,} now.")
    return redirect("quotas")


@route(permission=Permission.MANAGE_QUOTA, verb="quota.defined")
@require_POST
def quota_define(request: HttpRequest) -> HttpResponse:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    kind, _, key = request.POST.get("place", "").partition(":")
    made = quotas.define_one(
        actor=actor,
        place=quota_place_for(actor, kind, key),
        resource=request.POST.get("resource", "").strip(),
        terms=quotas.Terms(_whole(request.POST.get("limit", ""), "limit")),
        now=timezone.now(),
    )
    messages.success(request, f"{resource_words(made.resource)[0]}: the limit is {made.limit:,}.")
    return redirect("quotas")


@route(permission=Permission.REQUEST_QUOTA, verb="approval.asked")
@require_POST
def quota_ask(request: HttpRequest, quota_id: UUID) -> HttpResponse:
    quota_requests.ask(
        actor=request.actor,  # type: ignore[attr-defined]
        quota_id=quota_id,
        limit=_whole(request.POST.get("limit", ""), "limit"),
        justification=request.POST.get("justification", ""),
        until=_end_of_day(request.POST.get("until", "")),
        now=timezone.now(),
    )
    messages.success(request, "Asked. You see here what becomes of it.")
    return redirect("quotas")


def _whole(word: str, field: str) -> int:
    digits = word.strip()
    if not digits.isascii() or not digits.isdigit() or len(digits) > _LONGEST:
        raise Invalid([FieldError(field, "not_a_number", "A limit is a whole number, such as 8.")])
    return int(digits)


def _end_of_day(word: str) -> datetime | None:
    """The first instant after that day, where the person is."""
    if not word.strip():
        return None
    try:
        after = date.fromisoformat(word.strip()) + timedelta(days=1)
        return timezone.make_aware(datetime.combine(after, time()))
    except (ValueError, OverflowError):
        raise Invalid([FieldError("until", "not_a_date", "Until when reads like 2026-12-31.")]) from None
