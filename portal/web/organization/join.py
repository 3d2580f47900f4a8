"""Taking up an invitation: with one click for who is signed in, with a name and a password for who has no account."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from core.api import limits
from core.encryption import decrypted, encrypted
from core.errors import NotFound, SteelyardError
from core.refusals import note
from core.routes import ANONYMOUS, route
from portal.identity import SESSION_ORGANIZATION, SESSION_PROJECT
from portal.web.organization.asking import show
from portal.web.organization.forms import JoinForm
from tenants.services import invitations
from tenants.services.invitations import InvitationGone, Offer

SESSION_CODE = "invitation"
_A_MINUTE = 60
_BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@route(permission=ANONYMOUS, verb="invitation.accepted", scoped=False)
@never_cache
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest) -> HttpResponse:
    """The link of the mail leads here. Its secret goes into the session and out of the address at once."""
    if _asks_too_often(request):
        return render(request, "429.html", status=429)
    code = request.GET.get("code")
    if request.method == "GET" and code is not None:
        request.session[SESSION_CODE] = encrypted(code[:100])
        return redirect("join")
    secret = _secret_of(request)
    try:
        offer = invitations.offered(secret=secret, now=timezone.now())
    except InvitationGone as error:
        return render(request, "portal/organization/join.html", {"gone": error.message if secret else ""})
    if request.method == "GET":
        return _page(request, offer, JoinForm())
    return _accept(request, offer, secret) if request.user.is_authenticated else _register(request, offer, secret)


def _asks_too_often(request: HttpRequest) -> bool:
    """Nobody needs a minute's worth of tries: secrets are long, but accounts are made here."""
    counter = limits.counter_at(settings.CACHES["default"]["LOCATION"])
    spent = counter.spend(f"join:{request.META.get('REMOTE_ADDR', '')}", limit=_A_MINUTE)
    return spent is not None and spent.exhausted


def _secret_of(request: HttpRequest) -> str:
    """What the page's form sends, or the link has left in the session: encrypted, as sessions lie in the database."""
    kept = request.session.get(SESSION_CODE, "")
    return request.POST.get("code") or (decrypted(kept) if kept else "")


def _accept(request: HttpRequest, offer: Offer, secret: str) -> HttpResponse:
    try:
        invitations.accept(user=request.user, secret=secret, now=timezone.now())  # type: ignore[arg-type]
    except InvitationGone as error:
        return render(request, "portal/organization/join.html", {"gone": error.message})
    except NotFound as error:  # somebody else's address
        note(request, error)
        return _page(request, offer, JoinForm(), status=403)
    return _arrive(request, offer)


def _register(request: HttpRequest, offer: Offer, secret: str) -> HttpResponse:
    form = JoinForm(request.POST)
    if offer.has_account or not form.is_valid():
        return _page(request, offer, form, status=400)
    words = form.cleaned_data
    try:
        user = invitations.register(
            secret=secret, full_name=words["full_name"], password=words["password"], now=timezone.now()
        )
    except InvitationGone as error:
        return render(request, "portal/organization/join.html", {"gone": error.message})
    except SteelyardError as error:
        return _page(request, offer, form, status=show(form, error, request))
    login(request, user, backend=_BACKEND)
    return _arrive(request, offer)


def _arrive(request: HttpRequest, offer: Offer) -> HttpResponse:
    request.session.pop(SESSION_CODE, None)
    request.session.pop(SESSION_PROJECT, None)
    request.session[SESSION_ORGANIZATION] = str(offer.organization_id)
    return redirect("home")


def _page(request: HttpRequest, offer: Offer, form: JoinForm, *, status: int = 200) -> HttpResponse:
    email = request.user.email if request.user.is_authenticated else ""
    way = (
        "other" if email and email != offer.email else "accept" if email else "sign-in" if offer.has_account else "new"
    )
    context = {
        "offer": offer,
        "way": way,
        "email": email,
        "form": form,
        "code": _secret_of(request),
        "login_url": f"{reverse('account_login')}?{urlencode({'next': reverse('join')})}",
    }
    return render(request, "portal/organization/join.html", context, status=status)
