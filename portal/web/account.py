"""A person's own account: its end, for good. A person is in every organisation at once, so these pages are in none."""

from __future__ import annotations

from contextlib import nullcontext

from django import forms
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from core import scope
from core.errors import SteelyardError
from core.routes import AUTHENTICATED, route
from core.types import Actor
from portal.erasing import erase, prospect
from portal.web.organization.asking import show
from portal.web.proving import is_proven, refuse_others, without_password

ERASES = "person.erased"


class EraseForm(forms.Form):
    confirmed = forms.CharField(
        label="Your e-mail address", max_length=254, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    password = forms.CharField(
        label="Your password", widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


@route(permission=AUTHENTICATED, verb=ERASES, scoped=False)
@never_cache
@require_http_methods(["GET", "POST"])
def account_erase(request: HttpRequest) -> HttpResponse:
    """What goes, what stays and what hinders; then, proven and confirmed, the end of the account."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    refuse_others(actor)
    form = without_password(EraseForm(request.POST or None), request)
    if request.method == "GET":
        return _page(request, form)
    if not form.is_valid() or not is_proven(request, form):
        return _page(request, form, status=400)
    try:
        erase(actor=actor, user_id=actor.person_id, confirmed=form.cleaned_data["confirmed"], now=timezone.now())
    except SteelyardError as error:
        return _page(request, form, status=show(form, error, request))
    request.session.flush()
    request.user = AnonymousUser()
    return render(request, "portal/account/erased.html")


def _page(request: HttpRequest, form: EraseForm, *, status: int = 200) -> HttpResponse:
    """In the frame of the organisation in which the person acts, or at the door for one who is in none."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    found = prospect(actor=actor, user_id=actor.person_id, now=timezone.now())
    at_home = actor.organization_id
    context = {
        "frame": "app.html" if at_home else "door.html",
        "email": found.person.email,
        "holds": found.holds,
        "hindered_by": found.hindered_by,
        "form": form,
    }
    with scope.of_organization(at_home, user_id=actor.id) if at_home else nullcontext():
        return render(request, "portal/account/erase.html", context, status=status)
