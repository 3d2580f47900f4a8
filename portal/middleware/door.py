"""The door of the pages: nobody unknown comes in, and no view that says nothing of itself is reached.

The API has a door of its own (`portal.api.authentication.HasActor`), which answers in problem documents.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from core.errors import NotFound
from core.routes import ANONYMOUS, declared
from core.types import Actor
from portal.web.problems import page_of_error

View = Callable[..., object]

FOREIGN_ROUTES = frozenset(
    {
        "account_login",
        "account_logout",
        "account_inactive",
        "account_signup",
        "account_reauthenticate",
        "account_change_password",
        "account_set_password",
        "account_reset_password",
        "account_reset_password_done",
        "account_reset_password_from_key",
        "account_reset_password_from_key_done",
        "usersessions_list",
    }
)
"""Routes of packages that guard themselves. Whatever else they bring is denied."""


def refusal(request: HttpRequest, view: View) -> HttpResponse | None:
    """The answer to who may not go on to this view; None for who may."""
    match = request.resolver_match
    if match is not None and match.url_name in FOREIGN_ROUTES:
        return None
    if getattr(view, "cls", None) is not None:
        return None
    route = declared(view, request.method or "GET")
    if route is None:
        return page_of_error(request, NotFound("page", request.path_info))
    if route.permission == ANONYMOUS:
        return None
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if actor.id is None:
        return _to_the_door(request)
    return redirect("home") if actor.organization_id is None else None


def _to_the_door(request: HttpRequest) -> HttpResponse:
    """A part of a page cannot become the sign-in form, so the page that asked for it goes there as a whole."""
    if request.headers.get("HX-Request"):
        return HttpResponseClientRedirect(reverse("account_login"))
    return redirect_to_login(request.get_full_path() if request.method == "GET" else "/")
