"""What the platform does to an organisation: its standing and its own quotas."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from core.errors import FieldError, Invalid
from core.routes import route
from core.types import ObjectRef
from portal.web.console import frame
from tenants.enums import PlatformPermission
from tenants.selectors.quotas import organization_quota
from tenants.services import quotas, standing
from tenants.services.quotas import Terms

P = PlatformPermission


@route(permission=P.MANAGE_TENANTS, verb="organization.suspended", scoped=False)
@require_POST
def suspend(request: HttpRequest, slug: str) -> HttpResponse:
    """Nothing new starts there; the reason stands on the members' pages."""
    organization = frame.tenant_at(request, P.MANAGE_TENANTS, slug, _named(slug))
    with frame.inside(request, P.MANAGE_TENANTS, organization.pk) as actor:
        standing.suspend(
            actor=actor, organization=organization, reason=request.POST.get("reason", ""), now=timezone.now()
        )
    messages.success(request, f"{organization.name} is suspended: nothing new starts.")
    return redirect("console-tenant", slug)


@route(permission=P.MANAGE_TENANTS, verb="organization.restored", scoped=False)
@require_POST
def restore(request: HttpRequest, slug: str) -> HttpResponse:
    organization = frame.tenant_at(request, P.MANAGE_TENANTS, slug, _named(slug))
    with frame.inside(request, P.MANAGE_TENANTS, organization.pk) as actor:
        standing.restore(actor=actor, organization=organization, now=timezone.now())
    messages.success(request, f"{organization.name} is in good standing again.")
    return redirect("console-tenant", slug)


@route(permission=P.MANAGE_TENANT_QUOTA, verb="quota.limit_set", scoped=False)
@require_POST
def set_quota(request: HttpRequest, slug: str) -> HttpResponse:
    """The most that the organisation may hold of a resource, whatever its projects are allowed."""
    organization = frame.tenant_at(request, P.MANAGE_TENANT_QUOTA, slug, _named(slug))
    resource, limit = request.POST.get("resource", "").strip(), _limit(request.POST.get("limit", ""))
    with frame.inside(request, P.MANAGE_TENANT_QUOTA, organization.pk) as actor:
        found = organization_quota(resource)
        if found is None:
            quotas.define_one(
                actor=actor, place=organization, resource=resource, terms=Terms(limit), now=timezone.now()
            )
        else:
            quotas.set_limit(actor=actor, quota_id=found.pk, limit=limit, now=timezone.now())
    messages.success(request, f"{organization.name} may hold {limit:,} {resource} at most.")
    return redirect("console-tenant", slug)


def _named(slug: str) -> ObjectRef:
    return ObjectRef("organization", slug)


def _limit(word: str) -> int:
    digits = word.strip()
    if not digits.isascii() or not digits.isdigit() or len(digits) > 13:
        raise Invalid([FieldError("limit", "not_a_number", "A limit is a whole number, such as 8.")])
    return int(digits)
