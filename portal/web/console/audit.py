"""The audit log across organisations: the platform's own chain, and anybody's. Whoever looks is in the platform's."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from core import scope
from core.errors import NotFound
from core.models import AuditEvent
from core.routes import route
from core.types import PLATFORM_ORGANIZATION_ID, Actor, ObjectRef
from portal.audit_exports import CSV, export_as_platform
from portal.audit_filters import chosen_of
from portal.web.audit.log import Log, choices, entry_context, page_of
from portal.web.console import frame
from tenants.enums import PlatformPermission
from tenants.permissions import authorize_platform
from tenants.selectors.names import organization_names
from tenants.selectors.platform import tenant_by_slug

PLATFORM: Final = "platform"
P = PlatformPermission


@route(permission=P.VIEW_PLATFORM_AUDIT, verb="audit.viewed", scoped=False)
@require_GET
def audit_list(request: HttpRequest) -> HttpResponse:
    """The platform's chain, or the one that `chain` names by its organisation's slug."""
    chain, organization_id = _chain(request)
    log = Log(
        organization_id,
        reverse("console-audit"),
        "console-audit-event",
        reverse("console-audit-export"),
        {"chain": chain},
    )
    with frame.across(request, P.VIEW_PLATFORM_AUDIT, "audit.viewed", ObjectRef("audit", str(organization_id))):
        context = page_of(log, chosen_of(request.GET), before=request.GET.get("before", "")) | choices(log)
        names = organization_names()
    if request.headers.get("HX-Target") == "events":
        return render(request, "portal/audit/_events.html", context)
    chains = [{"value": PLATFORM, "label": "The platform"}]
    chains += [{"value": slug, "label": name} for slug, name in names]
    return frame.page(request, "portal/audit/list.html", {**context, "chains": chains, "chain_shown": chain})


@route(permission=P.VIEW_PLATFORM_AUDIT, verb="audit.viewed", scoped=False)
@require_GET
def audit_event(request: HttpRequest, event_id: UUID) -> HttpResponse:
    ref = ObjectRef("audit_event", str(event_id))
    with frame.across(request, P.VIEW_PLATFORM_AUDIT, "audit.viewed", ref):
        row = AuditEvent.objects.filter(pk=event_id).first()
        if row is None:
            raise NotFound("audit_event", event_id)
        context = entry_context(row, reverse("console-audit"))
    return frame.page(request, "portal/audit/event.html", context)


@route(permission=P.VIEW_PLATFORM_AUDIT, verb="audit.exported", scoped=False)
@require_GET
def audit_export(request: HttpRequest) -> StreamingHttpResponse:
    chain, organization_id = _chain(request)
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return export_as_platform(
        actor=actor,
        organization_id=organization_id,
        chosen=chosen_of(request.GET),
        form=request.GET.get("format", CSV),
        name=chain,
        now=timezone.now(),
    )


def _chain(request: HttpRequest) -> tuple[str, UUID]:
    """Slug and id of the chain that is asked for, after authorising. Raises NotFound."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    slug = request.GET.get("chain", "") or PLATFORM
    authorize_platform(actor, P.VIEW_PLATFORM_AUDIT, ObjectRef("audit", slug))
    if slug == PLATFORM:
        return slug, PLATFORM_ORGANIZATION_ID
    with scope.of_platform():
        return slug, tenant_by_slug(slug).pk
