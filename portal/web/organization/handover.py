"""Handing the organisation over, and closing it: each confirmed by typing its slug and one's password."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from allauth.core import ratelimit
from django import forms
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
from portal.identity import for_the_person_alone
from portal.web.organization.asking import asked, show, uuid_of
from portal.web.organization.forms import CloseForm, TransferForm
from tenants.enums import Permission, Role, Standing
from tenants.permissions import authorize
from tenants.selectors.places import heirs_of
from tenants.services import closing, ownership

if TYPE_CHECKING:
    from tenants.models import Organization

_LEAVE = "leave"
_JUST_NOW = 300.0
"""Seconds."""
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
    _refuse_others(actor)
    form = _transfer_form(actor, request)
    if request.method == "GET":
        return _transfer_page(request, organization, form)
    if not form.is_valid() or not _is_proven(request, form):
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
    _refuse_others(actor)
    if request.method == "GET":
        return _close_page(request, actor, organization, CloseForm())
    form = CloseForm(request.POST)
    if not form.is_valid() or not _is_proven(request, form):
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


def _refuse_others(actor: Actor) -> None:
    """Nobody does this for somebody else: the password asked for would be the wrong person's."""
    if actor.operator_id is not None:
        raise for_the_person_alone(actor)


def _transfer_form(actor: Actor, request: HttpRequest) -> TransferForm:
    heirs = [(str(person.pk), f"{person.full_name or person.email} ({person.email})") for person in heirs_of(actor)]
    form = TransferForm(request.POST or None, choices={"to": heirs, "then": _AFTERWARDS})
    return _without_password(form, request)


def _without_password(form: TransferForm, request: HttpRequest) -> TransferForm:
    """Whoever has none proves who they are by a recent sign-in."""
    if not request.user.has_usable_password():  # type: ignore[union-attr]
        form.fields["password"].required = False
    return form


def _is_proven(request: HttpRequest, form: forms.Form) -> bool:
    """The password, or for one without any a sign-in of the last minutes. Guesses are counted as at the door."""
    if not ratelimit.consume(request, action="reauthenticate", user=request.user):
        form.add_error(None, "Too many tries. Wait a few minutes.")
        return False
    if request.user.has_usable_password():  # type: ignore[union-attr]
        if request.user.check_password(form.cleaned_data["password"]):
            return True
        form.add_error("password", "This is not your password.")
        return False
    if _signed_in_just_now(request):
        return True
    form.add_error(None, "Sign out and in again first: you have no password here, so a recent sign-in has to do.")
    return False


def _signed_in_just_now(request: HttpRequest) -> bool:
    """Whether this very session was opened in the last minutes, by whichever way in."""
    ways: list[dict[str, float]] = request.session.get("account_authentication_methods", [])
    return any(time.time() - way.get("at", 0.0) < _JUST_NOW for way in ways)


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
