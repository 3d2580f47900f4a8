"""Handing the organisation over, and closing it: each confirmed by typing its slug and one's password."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from core.errors import SteelyardError
from core.routes import route
from core.types import Actor
from portal.closing import final_bill, totals
from portal.web.organization.asking import asked, show, uuid_of
from portal.web.organization.forms import CloseForm, TransferForm
from portal.web.proving import is_proven, refuse_others, without_password
from tenants.enums import Permission, Role, Standing
from tenants.permissions import authorize
from tenants.selectors.places import heirs_of
from tenants.services import closing, ownership

if TYPE_CHECKING:
    from tenants.models import Organization

_LEAVE = "leave"
_AFTERWARDS = [
    (Role.ADMIN, "Admin"),
    (Role.BILLING, "Billing"),
    (Role.AUDITOR, "Auditor"),
    (_LEAVE, "Nobody: leave the organisation"),
]


@route(permission=Permission.TRANSFER_ORGANIZATION, verb="organization.transferred")
@never_cache
@require_http_methods(["GET", "POST"])
def transfer(request: HttpRequest) -> HttpResponse:
    """Make a member the owner. One's own tokens and sessions end with it, this one too."""
    actor, organization = asked(request)
    authorize(actor, Permission.TRANSFER_ORGANIZATION, organization)
    refuse_others(actor)
    form = _transfer_form(actor, request)
    if request.method == "GET":
        return _transfer_page(request, organization, form)
    if not form.is_valid() or not is_proven(request, form):
        return _transfer_page(request, organization, form, status=400)
    words = form.cleaned_data
    heir = uuid_of(words["to"])
    assert heir is not None
    try:
        ownership.transfer(
            actor=actor,
            organization=organization,
            to_user_id=heir,
            then=ownership.LEAVES if words["then"] == _LEAVE else words["then"],
            confirmed=words["confirmed"],
            now=timezone.now(),
        )
    except SteelyardError as error:
        return _transfer_page(request, organization, form, status=show(form, error, request))
    request.session.flush()
    return redirect("account_login")


@route(permission=Permission.CLOSE_ORGANIZATION, verb="organization.closed")
@never_cache
@require_http_methods(["GET", "POST"])
def close(request: HttpRequest) -> HttpResponse:
    """Close it for good, with the final bill of its open months in sight."""
    actor, organization = asked(request)
    authorize(actor, Permission.CLOSE_ORGANIZATION, organization)
    refuse_others(actor)
    if request.method == "GET":
        return _close_page(request, actor, organization, CloseForm())
    form = CloseForm(request.POST)
    if not form.is_valid() or not is_proven(request, form):
        return _close_page(request, actor, organization, form, status=400)
    now = timezone.now()
    try:
        closing.close(
            actor=actor,
            organization=organization,
            confirmed=form.cleaned_data["confirmed"],
            final_bill=partial(totals, actor, now),
            now=now,
        )
    except SteelyardError as error:
        return _close_page(request, actor, organization, form, status=show(form, error, request))
    messages.success(request, f"{organization.name} is closed.")
    return redirect("organization-close")


def _transfer_form(actor: Actor, request: HttpRequest) -> TransferForm:
    heirs = [(str(person.pk), f"{person.full_name or person.email} ({person.email})") for person in heirs_of(actor)]
    form = TransferForm(request.POST or None, choices={"to": heirs, "then": _AFTERWARDS})
    return without_password(form, request)


def _transfer_page(
    request: HttpRequest, organization: Organization, form: TransferForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "organization": organization,
        "form": form,
        "has_heirs": bool(list(form.fields["to"].choices)),  # type: ignore[attr-defined]
        "members_url": reverse("members"),
        "settings_url": reverse("organization"),
    }
    return render(request, "portal/organization/transfer.html", context, status=status)


def _close_page(
    request: HttpRequest, actor: Actor, organization: Organization, form: CloseForm, *, status: int = 200
) -> HttpResponse:
    now = timezone.now()
    context = {
        "organization": organization,
        "closed": organization.standing == Standing.CLOSED,
        "bill": final_bill(actor, organization.closed_at or now),
        "as_of": organization.closed_at or now,
        "form": form,
        "settings_url": reverse("organization"),
        "audit_url": reverse("audit"),
    }
    return render(request, "portal/organization/close.html", context, status=status)
