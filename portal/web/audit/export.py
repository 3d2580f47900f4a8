"""The log as a file."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from core.routes import route
from core.types import Actor
from portal.audit_exports import CSV, export
from portal.audit_filters import chosen_of
from tenants.enums import Permission


@route(permission=Permission.VIEW_AUDIT, verb="audit.exported", scoped=False)
@require_GET
def audit_export(request: HttpRequest) -> StreamingHttpResponse:
    """What the filters show, all of it, oldest first."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    form = request.GET.get("format", CSV)
    zone = ZoneInfo(getattr(request.user, "time_zone", "UTC"))
    with timezone.override(zone):  # the days of the filters are the person's, as on the page
        return export(actor=actor, chosen=chosen_of(request.GET), form=form, now=timezone.now())
