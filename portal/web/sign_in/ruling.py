"""How the organisation's people sign in: the page of those who rule it, and its acts."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from core.errors import FieldError, Invalid, Refused
from core.refusals import note
from core.routes import route
from core.types import Actor
from tenants.enums import Permission, Role
from tenants.selectors import organization_of, projects_with
from tenants.selectors.sign_in import domains_of, mappings_of, provider_of
from tenants.services import email_domains
from tenants.services import sign_in as rules
from tenants.services.sign_in import MappingDraft, ProviderDraft

if TYPE_CHECKING:
    from tenants.models import EmailDomain, GroupMapping, IdentityProvider

_HERE = "here"
_ON_ORGANIZATION = (Role.ADMIN, Role.BILLING, Role.AUDITOR)
_ON_PROJECT = (Role.PROJECT_ADMIN, Role.DEVELOPER, Role.VIEWER)
_TEMPLATE = "portal/sign_in/settings.html"


class ProviderForm(forms.Form):
    name = forms.CharField(max_length=80, help_text="What your people know it by, such as “Acme account”.")
    issuer = forms.CharField(max_length=300, help_text="Its address, exactly as its description says it.")
    client_id = forms.CharField(max_length=200, label="Client id")
    client_secret = forms.CharField(
        max_length=400,
        required=False,
        label="Client secret",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Kept encrypted and never shown. Empty: as it was.",
    )
    group_claim = forms.CharField(max_length=80, initial="groups", label="Claim that names the groups")
    enabled = forms.BooleanField(required=False, label="In use", help_text="Not in use: nobody signs in by it.")
    version = forms.IntegerField(widget=forms.HiddenInput, min_value=0, initial=0)


class MappingForm(forms.Form):
    group = forms.CharField(max_length=200, required=False, help_text="As the claim has it. Empty: everybody.")
    role = forms.ChoiceField(choices=[(role.value, role.label) for role in (*_ON_ORGANIZATION, *_ON_PROJECT)])
    place = forms.ChoiceField(label="On")


@route(permission=Permission.MANAGE_SIGN_IN, verb="sign_in.viewed")
@require_GET
def sign_in(request: HttpRequest) -> HttpResponse:
    return _page(request)


@route(permission=Permission.MANAGE_SIGN_IN, verb="sign_in.second_factor_set")
@require_POST
def second_factor(request: HttpRequest) -> HttpResponse:
    actor = _actor(request)
    required = request.POST.get("required") == "yes"
    rules.require_second_factor(
        actor=actor,
        organization=organization_of(actor),
        required=required,
        expected_version=_version(request),
        now=timezone.now(),
    )
    done = "Everybody here needs a second factor now." if required else "A second factor is everybody's own choice now."
    messages.success(request, done)
    return redirect("sign-in")


@route(permission=Permission.MANAGE_SIGN_IN, verb="identity_provider.saved")
@require_POST
def provider(request: HttpRequest) -> HttpResponse:
    actor = _actor(request)
    form = ProviderForm(request.POST)
    if not form.is_valid():
        return _page(request, provider_form=form, status=400)
    asked = form.cleaned_data
    draft = ProviderDraft(
        name=asked["name"],
        issuer=asked["issuer"].strip(),
        client_id=asked["client_id"].strip(),
        client_secret=asked["client_secret"] or None,
        group_claim=asked["group_claim"].strip(),
        enabled=asked["enabled"],
    )
    try:
        rules.save_provider(
            actor=actor,
            organization=organization_of(actor),
            draft=draft,
            expected_version=asked["version"],
            now=timezone.now(),
        )
    except Invalid as error:
        for each in error.errors:
            form.add_error(each.field if each.field in form.fields else None, each.message)
        return _page(request, provider_form=form, status=400)
    messages.success(request, f"{draft.name} is saved.")
    return redirect("sign-in")


@route(permission=Permission.MANAGE_SIGN_IN, verb="identity_provider.removed")
@require_POST
def provider_remove(request: HttpRequest) -> HttpResponse:
    actor = _actor(request)
    rules.remove_provider(actor=actor, organization=organization_of(actor), now=timezone.now())
    messages.success(request, "The provider is removed. Nobody signs in by it any more.")
    return redirect("sign-in")


@route(permission=Permission.MANAGE_SIGN_IN, verb="group_mapping.made")
@require_POST
def group_map(request: HttpRequest) -> HttpResponse:
    actor = _actor(request)
    form = _mapping_form(actor, request)
    if not form.is_valid():
        return _page(request, mapping_form=form, status=400)
    asked = form.cleaned_data
    here = organization_of(actor)
    place = here if asked["place"] == _HERE else projects_with(actor, Permission.VIEW_PROJECT).get(pk=asked["place"])
    try:
        rules.map_group(
            actor=actor,
            organization=here,
            mapping=MappingDraft(group=asked["group"], role=asked["role"], place=place),
            now=timezone.now(),
        )
    except Invalid as error:
        form.add_error(None, error.message)
        return _page(request, mapping_form=form, status=400)
    messages.success(request, "The group has its role from the next sign-in on.")
    return redirect("sign-in")


@route(permission=Permission.MANAGE_SIGN_IN, verb="group_mapping.removed")
@require_POST
def group_unmap(request: HttpRequest, mapping_id: UUID) -> HttpResponse:
    actor = _actor(request)
    rules.unmap_group(actor=actor, organization=organization_of(actor), mapping_id=mapping_id, now=timezone.now())
    messages.success(request, "Who has the role by this group alone loses it at the next sign-in.")
    return redirect("sign-in")


@route(permission=Permission.MANAGE_SIGN_IN, verb="email_domain.added")
@require_POST
def domain_add(request: HttpRequest) -> HttpResponse:
    actor = _actor(request)
    email_domains.add(
        actor=actor, organization=organization_of(actor), domain=request.POST.get("domain", ""), now=timezone.now()
    )
    messages.success(request, "Now put the record into your DNS, then check it here.")
    return redirect("sign-in")


@route(permission=Permission.MANAGE_SIGN_IN, verb="email_domain.proven", scoped=False)
@require_POST
def domain_check(request: HttpRequest, domain_id: UUID) -> HttpResponse:
    """Asks the name servers, so it opens short scopes of its own."""
    try:
        row = email_domains.check(actor=_actor(request), domain_id=domain_id, now=timezone.now())
    except Refused as error:
        note(request, error)
        messages.error(request, error.message)
        return redirect("sign-in")
    messages.success(request, f"{row.domain} is proven. Your provider speaks for its addresses now.")
    return redirect("sign-in")


@route(permission=Permission.MANAGE_SIGN_IN, verb="email_domain.removed")
@require_POST
def domain_remove(request: HttpRequest, domain_id: UUID) -> HttpResponse:
    email_domains.remove(actor=_actor(request), domain_id=domain_id, now=timezone.now())
    messages.success(request, "The domain is off the list.")
    return redirect("sign-in")


def _page(
    request: HttpRequest,
    *,
    provider_form: ProviderForm | None = None,
    mapping_form: MappingForm | None = None,
    status: int = 200,
) -> HttpResponse:
    actor = _actor(request)
    here, row = organization_of(actor), provider_of(actor)
    context = {
        "organization": here,
        "provider": row,
        "provider_form": provider_form or ProviderForm(initial=_initial(row)),
        "mapping_form": mapping_form or _mapping_form(actor),
        "mappings": [_shown_mapping(each) for each in mappings_of(actor)],
        "domains": [_shown_domain(each) for each in domains_of(actor)],
        "redirect_uri": f"{settings.STEELYARD['PORTAL_ORIGIN']}{reverse('sso-callback')}",
        "start_url": f"{settings.STEELYARD['PORTAL_ORIGIN']}{reverse('sso-start')}?organization={here.slug}",
    }
    return render(request, _TEMPLATE, context, status=status)


def _actor(request: HttpRequest) -> Actor:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor


def _version(request: HttpRequest) -> int | None:
    word = request.POST.get("version", "")
    if not word:
        return None
    if not word.isascii() or not word.isdigit():
        raise Invalid([FieldError("version", "not_a_number", "The version is a whole number.")])
    return int(word)


def _mapping_form(actor: Actor, request: HttpRequest | None = None) -> MappingForm:
    form = MappingForm(request.POST) if request is not None else MappingForm()
    places = [(_HERE, f"{organization_of(actor).name}, the organisation")]
    places += [(str(each.pk), each.name) for each in projects_with(actor, Permission.VIEW_PROJECT)]
    form.fields["place"].choices = places  # type: ignore[attr-defined]
    return form


def _initial(row: IdentityProvider | None) -> dict[str, object]:
    if row is None:
        return {"enabled": True, "version": 0, "group_claim": "groups"}
    names = ("name", "issuer", "client_id", "group_claim", "enabled", "version")
    return {name: getattr(row, name) for name in names}


def _shown_mapping(row: GroupMapping) -> dict[str, object]:
    place = row.project or row.team
    return {
        "id": row.pk,
        "group": row.group,
        "role": Role(row.role).label,
        "place": place.name if place else "the organisation",
        "remove_url": reverse("sign-in-group-remove", args=[row.pk]),
    }


def _shown_domain(row: EmailDomain) -> dict[str, object]:
    return {
        "id": row.pk,
        "domain": row.domain,
        "record_name": email_domains.record_name(row.domain),
        "record_value": email_domains.record_value(row),
        "proven_at": row.proven_at,
        "checked_at": row.checked_at,
        "failing_since": row.failing_since,
        "check_url": reverse("sign-in-domain-check", args=[row.pk]),
        "remove_url": reverse("sign-in-domain-remove", args=[row.pk]),
    }
