"""What the organisation is: its name and time zone, its standing, and how it ends or changes hands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from core.errors import SteelyardError
from core.routes import AUTHENTICATED, route
from core.types import Actor
from portal.web.organization.asking import asked, show
from portal.web.organization.forms import SettingsForm
from tenants.enums import Permission, Standing
from tenants.permissions import authorize, permissions_on
from tenants.selectors.places import roles_of
from tenants.selectors.roles import platform_matrix, role_matrix
from tenants.services import organizations

if TYPE_CHECKING:
    from tenants.models import Organization

_TONES = {Standing.GOOD: "good", Standing.SUSPENDED: "bad", Standing.CLOSED: "off"}


@route(permission=AUTHENTICATED, verb="organization.viewed")
@require_GET
def organization_settings(request: HttpRequest) -> HttpResponse:
    return _page(request)


@route(permission=Permission.MANAGE_ORGANIZATION, verb="organization.changed")
@require_POST
def organization_change(request: HttpRequest) -> HttpResponse:
    actor, organization = asked(request)
    authorize(actor, Permission.MANAGE_ORGANIZATION, organization)
    form = SettingsForm(request.POST)
    if not form.is_valid():
        return _page(request, form=form, status=400)
    try:
        organizations.change(
            actor=actor, organization_id=organization.pk, changes=form.cleaned_data, now=timezone.now()
        )
    except SteelyardError as error:
        return _page(request, form=form, status=show(form, error, request))
    messages.success(request, "Saved.")
    return redirect("organization")


@route(permission=AUTHENTICATED, verb="role.listed")
@require_GET
def role_page(request: HttpRequest) -> HttpResponse:
    """Which role may do what, out of the one table that decides it."""
    context = {"matrix": role_matrix(), "platform": platform_matrix()}
    return render(request, "portal/organization/roles.html", context)


def _page(request: HttpRequest, *, form: SettingsForm | None = None, status: int = 200) -> HttpResponse:
    actor, organization = asked(request)
    held = permissions_on(actor, organization)
    open_ = organization.standing != Standing.CLOSED
    may = Permission.MANAGE_ORGANIZATION in held and open_
    context = {
        "organization": organization,
        "standing": Standing(organization.standing).label.lower(),
        "tone": _TONES[Standing(organization.standing)],
        "form": (form or _form(organization)) if may else None,
        "change_url": reverse("organization-change"),
        "roles": _own_roles(actor),
        "transfer_url": reverse("organization-transfer") if Permission.TRANSFER_ORGANIZATION in held and open_ else "",
        "close_url": reverse("organization-close") if Permission.CLOSE_ORGANIZATION in held else "",
        "leave_url": reverse("organization-leave"),
    }
    return render(request, "portal/organization/settings.html", context, status=status)


def _form(organization: Organization) -> SettingsForm:
    return SettingsForm(initial={"name": organization.name, "time_zone": organization.time_zone})


def _own_roles(actor: Actor) -> list[str]:
    rows = roles_of(actor, [actor.person_id]).get(actor.person_id, [])
    return [
        row.get_role_display()
        if row.place.ref.kind == "organization"
        else f"{row.get_role_display()} of {row.place.name}"
        for row in rows
    ]
