"""What the platform does to an organisation: founding it, its standing, its own quotas."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from core.errors import FieldError, Invalid
from core.routes import route
from core.types import ObjectRef
from portal.web.console import frame
from portal.web.console.tenants import tenant_page
from tenants.enums import PlatformPermission, Role
from tenants.selectors.quotas import organization_quota
from tenants.services import invitations, organizations, quotas, standing
from tenants.services.invitation_mail import link_of
from tenants.services.quotas import Terms

P = PlatformPermission


@route(permission=P.MANAGE_TENANTS, verb="organization.founded", scoped=False)
@require_POST
def found(request: HttpRequest) -> HttpResponse:
    """A new organisation. It has nobody until its owner takes up an invitation."""
    words = {name: request.POST.get(name, "").strip() for name in ("slug", "name", "currency", "time_zone")}
    organization = organizations.found_organization(
        actor=request.actor,  # type: ignore[attr-defined]
        now=timezone.now(),
        **words,
    )
    messages.success(request, f"{organization.name} is founded. Invite its owner.")
    return redirect("console-tenant", organization.slug)


@route(permission=P.MANAGE_TENANTS, verb="invitation.created", scoped=False)
@never_cache
@require_POST
def invite_owner(request: HttpRequest, slug: str) -> HttpResponse:
    """Invite the first owner; the link is shown this once, beside the mail that brings it."""
    organization = frame.tenant_at(request, P.MANAGE_TENANTS, slug, _named(slug))
    with frame.inside(request, P.MANAGE_TENANTS, organization.pk) as actor:
        invitation, secret = invitations.create(
            actor=actor, place=organization, email=request.POST.get("email", ""), role=Role.OWNER, now=timezone.now()
        )
    return tenant_page(request, slug, invited=invitation.email, link=link_of(secret))


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
