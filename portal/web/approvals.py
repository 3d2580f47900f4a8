"""The inbox of approvals, and every request that the person may see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from core.routes import route
from core.types import Actor
from portal.web.approvals_shown import Shown, shown
from tenants.enums import ApprovalKind, ApprovalState, Permission
from tenants.selectors import people_by_id
from tenants.selectors.approvals import approvals_visible_to, approvals_waiting_for, decisions_on, is_ones_own
from tenants.selectors.policies import policies_visible_to
from tenants.services import approvals

if TYPE_CHECKING:
    from tenants.models import Approval

_PER_PAGE = 25
_PAGES = frozenset({"workload", "project"})
"""Kinds of things that have a page under their own name."""
_MOST_WAITING = 50


@route(permission=Permission.VIEW_APPROVAL, verb="approval.listed")
@require_GET
def approval_list(request: HttpRequest) -> HttpResponse:
    """What waits for the person's word first, then all that it may see, newest first."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    chosen = {name: request.GET.get(name, "") for name in ("state", "kind", "mine")}
    waiting = list(approvals_waiting_for(actor, now=timezone.now()).order_by("expires_at", "pk")[:_MOST_WAITING])
    rows = approvals_visible_to(actor).order_by("-pk")
    if chosen["state"] in set(ApprovalState):
        rows = rows.filter(state=chosen["state"])
    if chosen["kind"] in set(ApprovalKind):
        rows = rows.filter(kind=chosen["kind"])
    if chosen["mine"]:
        rows = rows.filter(asked_by=actor.person_id)
    page = Paginator(rows, _PER_PAGE).get_page(request.GET.get("page"))
    kept = urlencode({name: value for name, value in chosen.items() if value})
    context = {
        "waiting": _shown(waiting, actor),
        "requests": _shown(list(page.object_list), actor),
        "states": ApprovalState.choices,
        "kinds": ApprovalKind.choices,
        "chosen": chosen,
        "page": {
            "previous": f"?{kept}&page={page.previous_page_number()}" if page.has_previous() else "",
            "next": f"?{kept}&page={page.next_page_number()}" if page.has_next() else "",
        },
    }
    return render(request, "portal/approvals/list.html", context)


@route(permission=Permission.DECIDE_APPROVAL, verb="approval.approved")
@require_POST
def approval_approve(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    done = approvals.approve(
        actor=request.actor,  # type: ignore[attr-defined]
        approval_id=approval_id,
        comment=request.POST.get("comment", ""),
        now=timezone.now(),
    )
    if done.state == ApprovalState.APPROVED:
        messages.success(request, f"{done.subject_label} is approved.")
    else:
        messages.success(request, f"You approved {done.subject_label}. It needs a second person's word.")
    return redirect("approvals")


@route(permission=Permission.DECIDE_APPROVAL, verb="approval.refused")
@require_POST
def approval_refuse(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    done = approvals.refuse(
        actor=request.actor,  # type: ignore[attr-defined]
        approval_id=approval_id,
        comment=request.POST.get("comment", ""),
        now=timezone.now(),
    )
    messages.success(request, f"{done.subject_label} is refused.")
    return redirect("approvals")


@route(permission=Permission.VIEW_APPROVAL, verb="approval.voided")
@require_POST
def approval_withdraw(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    done = approvals.void(actor=request.actor, approval_id=approval_id, now=timezone.now())  # type: ignore[attr-defined]
    messages.success(request, f"Your request for {done.subject_label} is taken back.")
    return redirect("approvals")


def _shown(rows: Sequence[Approval], actor: Actor) -> list[Shown]:
    said = decisions_on(row.pk for row in rows)
    ids = {row.asked_by for row in rows if row.asked_by} | {each.by for given in said.values() for each in given}
    people = people_by_id(ids)
    titles = {policy.rule.name.slug: policy.title for policy in policies_visible_to(actor)} if rows else {}
    now = timezone.now()
    return [
        shown(
            row,
            said.get(row.pk, []),
            people,
            withdraw_url=reverse("approval-withdraw", args=[row.pk])
            if row.asked_by == actor.id and row.is_open(now)
            else "",
            approve_url=reverse("approval-approve", args=[row.pk]),
            refuse_url=reverse("approval-refuse", args=[row.pk]),
            subject_url=reverse(row.subject_kind, args=[row.subject_id]) if row.subject_kind in _PAGES else "",
            titles=titles,
            stands_behind=is_ones_own(row, actor) and row.asked_by != actor.id,
        )
        for row in rows
    ]
