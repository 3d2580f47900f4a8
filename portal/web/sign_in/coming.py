"""Signing in by an organisation's identity provider: out, back, and the consent to link an account that exists.

These routes call the network or act before a tenant is known, so they open short scopes of their own.
"""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, replace
from secrets import compare_digest
from typing import TYPE_CHECKING, cast
from uuid import UUID

from allauth.account.internal.flows.login import get_authentication_records
from allauth.core.internal.ratelimit import consume
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core import scope
from core.errors import Forbidden, Refused, SteelyardError
from core.outgoing import NotReached
from core.refusals import note
from core.routes import ANONYMOUS, AUTHENTICATED, route
from core.types import Actor, ActorKind, Json, ObjectRef
from portal.identity import SESSION_ORGANIZATION, SESSION_PROJECT, SESSION_PROVIDER, is_bound
from tenants.selectors.sign_in import identity_of
from tenants.services import arrivals
from tenants.services.arrivals import Arrival, Departure, NotTrusted
from tenants.services.sign_in import SESSION_OF_PROVIDER

if TYPE_CHECKING:
    from tenants.models import User

logger = logging.getLogger(__name__)
_DEPARTED = "sso_departed"
_TO_LINK = "sso_to_link"
_SESSION_SECONDS = 12 * 3600
_FRESH_SECONDS = 600
_SILENT = "The sign-in of this organisation does not answer now."
"""All that a visitor learns: where it is asked is the organisation's own."""
_BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@route(permission=ANONYMOUS, verb="person.signed_in", scoped=False)
@never_cache
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Ask for the organisation, then send the browser to its provider.

    A form may not lead to a foreign origin, so the page that answers it does.
    """
    asked = request.GET.get("organization", "").strip()
    if not asked:
        return _ask(request)
    if not consume(request, app="allauth.account", action="sso", limit_get=True):
        return render(request, "429.html", status=429)
    found = arrivals.find(asked)
    if found is None:
        return _ask(
            request, asked, "Nobody signs in here by that name. Look at its spelling, or ask your administrator."
        )
    try:
        departure = arrivals.depart(organization_id=found[0], provider_id=found[1], redirect_uri=_redirect_uri())
    except SteelyardError as error:
        logger.warning("the sign-in of organisation %s does not answer: %s", found[0], error.message)
        return _ask(request, asked, _SILENT, status=502)
    _remember(request, departure)
    context = {"address": departure.address, "provider": departure.provider_name}
    return render(request, "portal/sign_in/going.html", context)


@route(permission=ANONYMOUS, verb="person.signed_in", scoped=False)
@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """Back from the provider: in, or the reason why not."""
    departed = request.session.pop(_DEPARTED, None)
    state = request.GET.get("state", "")
    if departed is None:
        return redirect("sso-start")
    if time.time() - departed["at"] > arrivals.TAKES_AT_MOST.total_seconds():
        return _sorry(request, "This sign-in has taken too long. Begin again.")
    if not compare_digest(state.encode(), str(departed["state"]).encode()):
        return _sorry(request, "This answer belongs to another sign-in. Begin again.")
    if request.GET.get("error") or not request.GET.get("code"):
        return _sorry(request, "Your organisation's sign-in was called off there.")
    try:
        arrival = arrivals.arrive(
            organization_id=UUID(departed["organization_id"]),
            provider_id=UUID(departed["provider_id"]),
            code=request.GET["code"],
            nonce=departed["nonce"],
            verifier=departed["verifier"],
            redirect_uri=_redirect_uri(),
            now=timezone.now(),
        )
    except (Refused, NotReached, NotTrusted) as error:
        _chain(request, UUID(departed["organization_id"]), error)
        return _sorry(request, _SILENT if isinstance(error, NotReached) else error.message)
    if arrival.user is None:
        return _may_link(request, arrival)
    _enter(request, arrival)
    return redirect(departed["next"])


@route(permission=ANONYMOUS, verb="identity.linked", scoped=False)
@never_cache
@require_http_methods(["GET", "POST"])
def link(request: HttpRequest) -> HttpResponse:
    """The owner of an account that exists says yes, or no, while signed in by their own means."""
    if not request.user.is_authenticated:
        return redirect(f"{reverse('account_login')}?{urlencode({'next': reverse('sso-link')})}")
    pending = request.session.get(_TO_LINK)
    if pending is None or time.time() - pending["at"] > arrivals.TAKES_AT_MOST.total_seconds():
        request.session.pop(_TO_LINK, None)
        messages.info(request, "Nothing waits to be linked. Sign in with your organisation first.")
        return redirect("home")
    if is_bound(request):
        raise Forbidden(
            "own_sign_in", ObjectRef("person", str(request.user.pk)), ask="nobody: sign in by your password"
        )
    if not _is_fresh(request):
        return redirect(f"{reverse('account_reauthenticate')}?{urlencode({'next': reverse('sso-link')})}")
    if request.method != "POST":
        context = {"organization": pending["organization_name"], "email": pending["claims"]["email"]}
        return render(request, "portal/sign_in/link.html", context)
    request.session.pop(_TO_LINK, None)
    return _link(request, pending)


@route(permission=AUTHENTICATED, verb="identity.viewed")
@require_GET
def linked(request: HttpRequest) -> HttpResponse:
    """Whether the organisation's provider may sign the person in here."""
    context = {"identity": identity_of(request.actor), "bound": is_bound(request)}  # type: ignore[attr-defined]
    return render(request, "portal/sign_in/linked.html", context)


@route(permission=AUTHENTICATED, verb="identity.unlinked")
@require_POST
def unlink(request: HttpRequest) -> HttpResponse:
    """Take the consent back. A session that rests on it ends."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if is_bound(request):
        raise Forbidden("own_sign_in", ObjectRef("person", str(actor.id)), ask="nobody: sign in by your password")
    arrivals.unlink(actor=actor, now=timezone.now())
    messages.success(request, "Your account is linked no longer.")
    return redirect("home")


def _link(request: HttpRequest, pending: dict[str, object]) -> HttpResponse:
    organization_id = UUID(str(pending["organization_id"]))
    person = cast("User", request.user)
    actor = Actor(kind=ActorKind.USER, id=person.pk, organization_id=organization_id, label=person.email)
    request.actor = actor  # type: ignore[attr-defined]
    with scope.of_organization(organization_id, user_id=actor.id):
        arrivals.link(
            actor=actor,
            provider_id=UUID(str(pending["provider_id"])),
            claims=arrivals.claims_of(pending["claims"]),
            now=timezone.now(),
        )
    request.session[SESSION_ORGANIZATION] = str(organization_id)
    request.session.pop(SESSION_PROJECT, None)
    messages.success(request, f"From now on {pending['organization_name']} signs you in.")
    return redirect("home")


def _enter(request: HttpRequest, arrival: Arrival) -> None:
    """A new session, which is valid for that organisation alone and lists which provider opened it."""
    request.session.flush()
    login(request, arrival.user, backend=_BACKEND)
    request.session[SESSION_ORGANIZATION] = str(arrival.organization_id)
    request.session[SESSION_PROVIDER] = str(arrival.provider_id)
    request.session.pop(SESSION_PROJECT, None)
    request.session.set_expiry(_SESSION_SECONDS)
    UserSession.objects.create_from_request(request)
    UserSession.objects.filter(session_key=request.session.session_key).update(
        data={SESSION_OF_PROVIDER: str(arrival.provider_id)}
    )


def _may_link(request: HttpRequest, arrival: Arrival) -> HttpResponse:
    """Keep what the provider said until the account's owner has signed in by their own means."""
    request.session[_TO_LINK] = {
        "organization_id": str(arrival.organization_id),
        "organization_name": arrival.organization_name,
        "provider_id": str(arrival.provider_id),
        "claims": asdict(arrival.claims),
        "at": time.time(),
    }
    context = {"organization": arrival.organization_name, "email": arrival.claims.email}
    return render(request, "portal/sign_in/exists.html", context)


def _remember(request: HttpRequest, departure: Departure) -> None:
    target = request.GET.get("next", "/")
    safe = url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    request.session[_DEPARTED] = {
        "organization_id": str(departure.organization_id),
        "provider_id": str(departure.provider_id),
        "state": departure.state,
        "nonce": departure.nonce,
        "verifier": departure.verifier,
        "next": target if safe else "/",
        "at": time.time(),
    }


def _is_fresh(request: HttpRequest) -> bool:
    """Whether the person has shown password or factor within ten minutes: consent needs the owner, not an open desk."""
    records: list[dict[str, Json]] = get_authentication_records(request, request.user)
    shown = [float(str(each["at"])) for each in records if each.get("method") in ("password", "mfa")]
    return bool(shown) and time.time() - max(shown) < _FRESH_SECONDS


def _chain(request: HttpRequest, organization_id: UUID, error: SteelyardError) -> None:
    """The refusal goes into the chain of the organisation whose provider it was."""
    refused = error if isinstance(error, Refused) else arrivals.as_refusal(error)
    note(request, refused)
    request.actor = replace(request.actor, organization_id=organization_id)  # type: ignore[attr-defined]


def _redirect_uri() -> str:
    return f"{settings.STEELYARD['PORTAL_ORIGIN']}{reverse('sso-callback')}"


def _ask(request: HttpRequest, asked: str = "", problem: str = "", status: int = 200) -> HttpResponse:
    context = {"asked": asked, "problem": problem, "next": request.GET.get("next", "")}
    return render(request, "portal/sign_in/organization.html", context, status=status)


def _sorry(request: HttpRequest, problem: str) -> HttpResponse:
    return render(request, "portal/sign_in/sorry.html", {"problem": problem}, status=403)
