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

from core.errors import Forbidden, NotFound
from core.routes import ANONYMOUS, declared
from core.types import Actor, ObjectRef
from portal.identity import for_the_person_alone, is_bound, is_for_the_person_alone
from portal.web.problems import page_of_error
from tenants.enums import PlatformPermission

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
        *("mfa_index", "mfa_authenticate", "mfa_reauthenticate"),
        *("mfa_activate_totp", "mfa_deactivate_totp"),
        *("mfa_view_recovery_codes", "mfa_generate_recovery_codes"),
        *("mfa_list_webauthn", "mfa_add_webauthn", "mfa_reauthenticate_webauthn"),
        *("mfa_remove_webauthn", "mfa_edit_webauthn"),
    }
)
"""Routes of packages that guard themselves. Whatever else they bring is denied."""

_OF_THE_ACCOUNT = frozenset({"account_set_password", "account_change_password"})
_OF_ONESELF = "account-erase"
"""A page of people without an organisation too, and of those who set up no second factor for one."""
_WAYS_OUT = frozenset({"switch-organization", _OF_ONESELF})
"""Where a person may still go who lacks the second factor that this organisation asks for."""


def refusal(request: HttpRequest, view: View) -> HttpResponse | None:
    """The answer to who may not go on to this view; None for who may."""
    match = request.resolver_match
    if match is not None and match.url_name in FOREIGN_ROUTES:
        return _not_in_a_bound_session(request, match.url_name or "")
    if getattr(view, "cls", None) is not None:
        return None
    route = declared(view, request.method or "GET")
    if route is None:
        return page_of_error(request, NotFound("page", request.path_info))
    if getattr(request, "impersonation_over", False):
        return redirect("console-tenants")
    if route.permission == ANONYMOUS:
        return None
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if actor.id is None or actor.token_id is not None:  # pages are for people at a browser; the API takes tokens
        return _to_the_door(request)
    name = match.url_name if match is not None else ""
    if awaits_second_factor(request) and name not in _WAYS_OUT:
        return _to(request, "mfa_index")
    if is_for_the_person_alone(actor, route, request.method or "GET"):
        return page_of_error(request, for_the_person_alone(actor))
    if route.permission in PlatformPermission.values or name == _OF_ONESELF:
        return None
    return redirect("home") if actor.organization_id is None else None


def _not_in_a_bound_session(request: HttpRequest, name: str) -> HttpResponse | None:
    """An organisation's provider opens the organisation, not the account: its session makes no password."""
    if name not in _OF_THE_ACCOUNT or not is_bound(request):
        return None
    ref = ObjectRef("person", str(getattr(request.user, "pk", "")))
    return page_of_error(request, Forbidden("own_account", ref, ask="nobody: sign in by your own means"))


def awaits_second_factor(request: HttpRequest) -> bool:
    """Whether the organisation asks for a second factor that the person does not have yet."""
    return bool(getattr(request, "awaits_second_factor", False))


def _to_the_door(request: HttpRequest) -> HttpResponse:
    if request.headers.get("HX-Request"):
        return _to(request, "account_login")
    return redirect_to_login(request.get_full_path() if request.method == "GET" else "/")


def _to(request: HttpRequest, name: str) -> HttpResponse:
    """A part of a page cannot become another page, so the page that asked for it goes there as a whole."""
    if request.headers.get("HX-Request"):
        return HttpResponseClientRedirect(reverse(name))
    return redirect(name)
