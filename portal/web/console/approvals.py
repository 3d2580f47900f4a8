"""Requests that the platform decides, of every organisation."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from core.routes import route
from core.types import ObjectRef
from portal.web.approvals_shown import shown
from portal.web.console import frame
from tenants.enums import PlatformPermission
from tenants.selectors import people_by_id
from tenants.selectors.approvals import decisions_on, is_ones_own, platform_approvals
from tenants.services import approvals

_MAY = PlatformPermission.DECIDE_PLATFORM_APPROVAL
_MOST = 100


@route(permission=_MAY, verb="approval.listed", scoped=False)
@require_GET
def approval_list(request: HttpRequest) -> HttpResponse:
    """What waits, soonest to expire first; then what was settled lately. A constant number of queries."""
    now = timezone.now()
    with frame.across(request, _MAY, "approval.listed") as actor:
        rows = platform_approvals(now=now, most=_MOST)
        said = decisions_on(row.pk for row in rows)
        ids = {row.asked_by for row in rows if row.asked_by} | {each.by for given in said.values() for each in given}
        people = people_by_id(ids)
    found = [
        {
            "organization": row.organization,
            "open": row.is_open(now),
            "own": is_ones_own(row, actor),
            "said": actor.person_id in {each.by for each in said.get(row.pk, [])},
            "asked": shown(
                row,
                said.get(row.pk, []),
                people,
                withdraw_url="",
                approve_url=_url("approve", row.organization.slug, row.pk),
                refuse_url=_url("refuse", row.organization.slug, row.pk),
                subject_url="",
            ),
        }
        for row in rows
    ]
    context: dict[str, object] = {
        "waiting": [each for each in found if each["open"]],
        "settled": [each for each in found if not each["open"]],
    }
    return frame.page(request, "portal/console/approvals.html", context)


@route(permission=_MAY, verb="approval.approved", scoped=False)
@require_POST
def approval_approve(request: HttpRequest, slug: str, approval_id: UUID) -> HttpResponse:
    organization = frame.tenant_at(request, _MAY, slug, ObjectRef("approval", str(approval_id)))
    with frame.inside(request, _MAY, organization.pk) as actor:
        done = approvals.approve(
            actor=actor, approval_id=approval_id, comment=request.POST.get("comment", ""), now=timezone.now()
        )
    messages.success(request, f"{done.subject_label}: your approval stands.")
    return redirect("console-approvals")


@route(permission=_MAY, verb="approval.refused", scoped=False)
@require_POST
def approval_refuse(request: HttpRequest, slug: str, approval_id: UUID) -> HttpResponse:
    organization = frame.tenant_at(request, _MAY, slug, ObjectRef("approval", str(approval_id)))
    with frame.inside(request, _MAY, organization.pk) as actor:
        done = approvals.refuse(
            actor=actor, approval_id=approval_id, comment=request.POST.get("comment", ""), now=timezone.now()
        )
    messages.success(request, f"{done.subject_label} is refused.")
    return redirect("console-approvals")


def _url(act: str, slug: str, approval_id: UUID) -> str:
    return reverse(f"console-approval-{act}", args=[slug, approval_id])
