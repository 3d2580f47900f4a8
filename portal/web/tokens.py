"""Access tokens: those of the person who looks, and those of a service account for who manages it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from core.errors import Invalid
from core.routes import AUTHENTICATED, route
from core.types import Actor
from tenants.enums import Permission
from tenants.permissions import authorize
from tenants.selectors import organization_of, tokens_of, tokens_of_account
from tenants.services import tokens
from tenants.services.service_accounts import account_by_id

if TYPE_CHECKING:
    from tenants.models import ServiceAccount

_LIFETIMES = (("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("", "never"))


class TokenForm(forms.Form):
    name = forms.CharField(max_length=80, help_text="What will use it, such as “nightly training”.")
    scopes = forms.MultipleChoiceField(
        choices=[(permission.value, permission.value.replace("_", " ")) for permission in Permission],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None chosen: all that you may do.",
    )
    expires = forms.ChoiceField(choices=_LIFETIMES, required=False, initial="90")


@route(permission=AUTHENTICATED, verb="token.created")
@never_cache
@require_http_methods(["GET", "POST"])
def token_list(request: HttpRequest) -> HttpResponse:
    """The person's tokens; a POST makes one and shows its secret this once."""
    if request.method != "POST":
        return _page(request, TokenForm())
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    actor: Actor = request.actor  # type: ignore[attr-defined]
    now = timezone.now()
    days = form.cleaned_data["expires"]
    try:
        _, secret = tokens.create(
            actor=actor,
            organization=organization_of(actor),
            name=form.cleaned_data["name"],
            scopes=form.cleaned_data["scopes"],
            expires_at=now + timedelta(days=int(days)) if days else None,
            now=now,
        )
    except Invalid as error:
        form.add_error(None, error.message)
        return _page(request, form, status=400)
    return _page(request, TokenForm(), secret=secret)


@route(permission=Permission.MANAGE_SERVICE_ACCOUNTS, verb="token.created")
@never_cache
@require_http_methods(["GET", "POST"])
def account_tokens(request: HttpRequest, account_id: UUID) -> HttpResponse:
    """A service account's tokens; a POST makes one and shows its secret this once."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    account = account_by_id(actor, account_id)
    authorize(actor, Permission.MANAGE_SERVICE_ACCOUNTS, organization_of(actor))
    if request.method != "POST":
        return _page(request, TokenForm(), account=account)
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, form, account=account, status=400)
    now, days = timezone.now(), form.cleaned_data["expires"]
    try:
        _, secret = tokens.create_for_account(
            actor=actor,
            account_id=account_id,
            name=form.cleaned_data["name"],
            scopes=form.cleaned_data["scopes"],
            expires_at=now + timedelta(days=int(days)) if days else None,
            now=now,
        )
    except Invalid as error:
        form.add_error(None, error.message)
        return _page(request, form, account=account, status=400)
    return _page(request, TokenForm(), account=account, secret=secret)


@route(permission=AUTHENTICATED, verb="token.revoked")
@require_POST
def token_revoke(request: HttpRequest, token_id: UUID) -> HttpResponse:
    tokens.revoke(actor=request.actor, token_id=token_id, now=timezone.now())  # type: ignore[attr-defined]
    messages.success(request, "The token is revoked. What uses it is refused from now on.")
    account = _account_of(request)
    return redirect("account-tokens", account.pk) if account else redirect("tokens")


@route(permission=AUTHENTICATED, verb="token.rotated")
@never_cache
@require_POST
def token_rotate(request: HttpRequest, token_id: UUID) -> HttpResponse:
    """A new secret in the place of the old one, which dies at once or after an hour or a day; shown this once."""
    word = request.POST.get("overlap", "0")
    hours = int(word) if word in {"0", "1", "24"} else 0
    _, secret = tokens.rotate(
        actor=request.actor,  # type: ignore[attr-defined]
        token_id=token_id,
        overlap=timedelta(hours=hours),
        now=timezone.now(),
    )
    return _page(request, TokenForm(), account=_account_of(request), secret=secret)


def _account_of(request: HttpRequest) -> ServiceAccount | None:
    """The service account whose page the form stood on; None: it stood on one's own."""
    try:
        asked = UUID(request.POST.get("account", ""))
    except ValueError:
        return None
    return account_by_id(request.actor, asked)  # type: ignore[attr-defined]


def _page(
    request: HttpRequest,
    form: TokenForm,
    *,
    account: ServiceAccount | None = None,
    secret: str = "",
    status: int = 200,
) -> HttpResponse:
    now, actor = timezone.now(), request.actor  # type: ignore[attr-defined]
    found = tokens_of_account(account, now=now) if account else tokens_of(actor, now=now)
    rows = [
        {
            "id": token.pk,
            "name": token.name,
            "prefix": token.prefix,
            "scopes": [scope.replace("_", " ") for scope in token.scopes]
            or ["all that it may" if account else "all that you may do"],
            "created_at": token.created_at,
            "expires_at": token.expires_at,
            "last_used_at": token.last_used_at,
            "revoke_url": reverse("token-revoke", args=[token.pk]),
            "rotate_url": reverse("token-rotate", args=[token.pk]),
        }
        for token in found
    ]
    context = {
        "tokens": rows,
        "form": form,
        "create_url": reverse("account-tokens", args=[account.pk]) if account else reverse("tokens"),
        "account": account,
        "secret": secret,
        "docs_url": "/api/v1/docs",
    }
    return render(request, "portal/tokens/list.html", context, status=status)
