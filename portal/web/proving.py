"""Proving once more who one is, before what cannot be taken back."""

from __future__ import annotations

import time
from typing import TypeVar

from allauth.core import ratelimit
from django import forms
from django.http import HttpRequest

from core.types import Actor
from portal.identity import for_the_person_alone

F = TypeVar("F", bound=forms.Form)
_JUST_NOW = 300.0
"""Seconds."""


def refuse_others(actor: Actor) -> None:
    """Nobody does this for somebody else: the password asked for would be the wrong person's."""
    if actor.operator_id is not None:
        raise for_the_person_alone(actor)


def without_password(form: F, request: HttpRequest) -> F:
    """Whoever has none proves who they are by a recent sign-in."""
    if not request.user.has_usable_password():  # type: ignore[union-attr]
        form.fields["password"].required = False
    return form


def is_proven(request: HttpRequest, form: forms.Form) -> bool:
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
