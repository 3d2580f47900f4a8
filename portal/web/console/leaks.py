"""What is there and nobody wishes for, what it costs a day, and what became of what leaked before."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from core.routes import route
from core.types import Actor
from portal.web.console import frame
from portal.web.console.policies import CURRENCY
from provisioning.enums import LeakEnd, LeakKind
from provisioning.selectors import leaks as selectors
from provisioning.selectors.leaks import Leaking
from provisioning.services import leaks
from tenants.enums import PlatformPermission

MAY = PlatformPermission.OPERATE_FLEET
MOST = 200
MOST_ENDED = 50
_KINDS = {
    LeakKind.RUN: "runs unwished",
    LeakKind.DISK: "disk",
    LeakKind.STUCK: "end that hangs",
    LeakKind.BILL: "bill without a thing",
}
_ENDS = {
    LeakEnd.REMOVED: "removed",
    LeakEnd.ESCAPED: "finalizers taken",
    LeakEnd.CLOSED: "bill ended",
    LeakEnd.GONE: "gone by itself",
}


@route(permission=MAY, verb="leak.listed", scoped=False)
@require_GET
def leak_list(request: HttpRequest) -> HttpResponse:
    """A constant number of queries."""
    now = timezone.now()
    with frame.across(request, MAY, "leak.listed"):
        open_ = selectors.open_leaks(CURRENCY, now, most=MOST)
        ended = selectors.ended_leaks(CURRENCY, now, most=MOST_ENDED)
    context: dict[str, object] = {
        "open": [_row(one) for one in open_],
        "ended": [_row(one) for one in ended],
        "per_day": selectors.total(open_, CURRENCY),
    }
    return frame.page(request, "portal/console/leaks.html", context)


@route(permission=MAY, verb="leak.removed", scoped=False)
@require_POST
def leak_remove(request: HttpRequest, leak_id: UUID) -> HttpResponse:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    leaks.remove(actor=actor, leak_id=leak_id, now=timezone.now())
    messages.success(request, "The disk is removed.")
    return redirect("console-leaks")


def _row(one: Leaking) -> dict[str, object]:
    row = one.leak
    return {
        "id": row.pk,
        "kind": _KINDS[LeakKind(row.kind)],
        "object": row.object,
        "cluster": row.cluster.label if row.cluster else "",
        "why": row.why,
        "since": row.since or row.found_at,
        "per_day": one.per_day,
        "outcome": _ENDS[LeakEnd(row.outcome)] if row.outcome else "",
        "ended_at": row.ended_at,
        "removable": row.ended_at is None and row.kind == LeakKind.DISK,
    }
