"""Who belongs to the organisation, with which roles, and who is invited."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from core.errors import NotFound, SteelyardError
from core.routes import AUTHENTICATED, route
from core.types import Actor
from portal.mail import goes_to_files
from portal.web.organization.asking import asked, place_choices, place_of, roles_for, show, words_of
from portal.web.organization.forms import GiveForm, InviteForm
from tenants.enums import Permission, PrincipalKind
from tenants.permissions import authorize, holds, permissions_on
from tenants.selectors import people_by_id
from tenants.selectors.places import (
    invitations_visible_to,
    member_by_id,
    people_of,
    principals_of,
    roles_of,
    service_accounts_visible_to,
)
from tenants.services import invitations, memberships
from tenants.services.invitation_mail import link_of

if TYPE_CHECKING:
    from tenants.models import Invitation, Membership, Organization, User

_PER_PAGE = 50


@route(permission=Permission.VIEW_MEMBERS, verb="member.listed")
@require_GET
def member_list(request: HttpRequest) -> HttpResponse:
    return _list(request)


@route(permission=Permission.MANAGE_MEMBERS, verb="invitation.created")
@never_cache
@require_POST
def invite(request: HttpRequest) -> HttpResponse:
    """Invite an address; the link is shown this once, beside the mail that brings it."""
    actor, organization = asked(request)
    form = _invite_form(actor, organization, request)
    if not form.choices_known:
        authorize(actor, Permission.MANAGE_MEMBERS, organization)
    if not form.is_valid():
        return _list(request, form=form, status=400)
    words = form.cleaned_data
    try:
        invitation, secret = invitations.create(
            actor=actor,
            place=place_of(actor, words["place"]),
            email=words["email"],
            role=words["role"],
            now=timezone.now(),
        )
    except SteelyardError as error:
        return _list(request, form=form, status=show(form, error, request))
    return _list(request, made=(invitation, secret))


@route(permission=Permission.MANAGE_MEMBERS, verb="invitation.resent")
@never_cache
@require_POST
def invitation_resend(request: HttpRequest, invitation_id: UUID) -> HttpResponse:
    actor, _ = asked(request)
    made = invitations.resend(actor=actor, invitation_id=invitation_id, now=timezone.now())
    return _list(request, made=made)


@route(permission=Permission.MANAGE_MEMBERS, verb="invitation.revoked")
@require_POST
def invitation_revoke(request: HttpRequest, invitation_id: UUID) -> HttpResponse:
    actor, _ = asked(request)
    invitations.revoke(actor=actor, invitation_id=invitation_id, now=timezone.now())
    messages.success(request, "The invitation is taken back. Its link is dead.")
    return redirect("members")


@route(permission=Permission.VIEW_MEMBERS, verb="member.viewed")
@require_GET
def member_detail(request: HttpRequest, member_id: UUID) -> HttpResponse:
    return _detail(request, member_id)


@route(permission=Permission.MANAGE_MEMBERS, verb="membership.granted")
@require_POST
def member_give(request: HttpRequest, member_id: UUID) -> HttpResponse:
    """Another role for a member, or another one than it holds at that place."""
    actor, organization = asked(request)
    user = _member(actor, member_id)
    form = GiveForm(request.POST, choices={"place": place_choices(actor, organization)})
    if not form.choices_known:
        authorize(actor, Permission.MANAGE_MEMBERS, organization)
    if not form.is_valid():
        return _detail(request, member_id, form=form, status=400)
    words = form.cleaned_data
    try:
        memberships.give(
            actor=actor, place=place_of(actor, words["place"]), user=user, role=words["role"], now=timezone.now()
        )
    except SteelyardError as error:
        return _detail(request, member_id, form=form, status=show(form, error, request))
    messages.success(request, f"{user.full_name or user.email} has the role.")
    return redirect("member", member_id=member_id)


@route(permission=Permission.MANAGE_MEMBERS, verb="membership.revoked")
@require_POST
def membership_take_back(request: HttpRequest, membership_id: UUID) -> HttpResponse:
    actor, _ = asked(request)
    row = people_of(actor).filter(pk=membership_id).first()
    memberships.take_back(actor=actor, membership_id=membership_id, now=timezone.now())
    messages.success(request, "The role is taken back. What it opened closes within a minute.")
    left = row is not None and roles_of(actor, [row.user_id])
    return redirect("member", member_id=row.user_id) if row is not None and left else redirect("members")


@route(permission=Permission.MANAGE_MEMBERS, verb="member.removed")
@require_POST
def member_remove(request: HttpRequest, member_id: UUID) -> HttpResponse:
    """Every role of a member at once."""
    actor, organization = asked(request)
    _member(actor, member_id)
    authorize(actor, Permission.MANAGE_MEMBERS, organization)
    memberships.remove_person(actor=actor, user_id=member_id, now=timezone.now())
    messages.success(request, "They belong to the organisation no more. What was open to them closes within a minute.")
    return redirect("members")


@route(permission=AUTHENTICATED, verb="member.left")
@require_POST
def leave(request: HttpRequest) -> HttpResponse:
    """Lay down all of one's own roles here."""
    actor, organization = asked(request)
    memberships.remove_person(actor=actor, user_id=actor.person_id, now=timezone.now())
    messages.success(request, f"You have left {organization.name}.")
    return redirect("home")


def _list(
    request: HttpRequest,
    *,
    form: InviteForm | None = None,
    made: tuple[Invitation, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    actor, organization = asked(request)
    now, words = timezone.now(), request.GET.get("q", "").strip()[:120]
    rows = people_of(actor)
    if not holds(actor, Permission.VIEW_MEMBERS, organization) and not rows.exclude(user_id=actor.person_id).exists():
        authorize(actor, Permission.VIEW_MEMBERS, organization)
    page = Paginator(principals_of(actor, words), _PER_PAGE).get_page(request.GET.get("page"))
    people = list(page.object_list)
    roles = roles_of(actor, [person.pk for person in people])
    open_ones = list(invitations_visible_to(actor).filter(accepted_at=None, revoked_at=None).order_by("-id")[:200])
    inviters = people_by_id({row.invited_by for row in open_ones if row.invited_by})
    shown = form or _invite_form(actor, organization)
    here, query = reverse("members"), f"{urlencode({'q': words})}&" if words else ""
    context = {
        "members": [_member_row(person, roles.get(person.pk, [])) for person in people],
        "total": page.paginator.count,
        "chosen": {"q": words},
        "page": {
            "previous": f"{here}?{query}page={page.previous_page_number()}" if page.has_previous() else "",
            "next": f"{here}?{query}page={page.next_page_number()}" if page.has_next() else "",
        },
        "invitations": [_invitation_row(row, inviters, now) for row in open_ones],
        "form": shown if shown.choices_known else None,
        "invite_url": reverse("invite"),
        "link": link_of(made[1]) if made else "",
        "invited": made[0].email if made else "",
        "files": goes_to_files(),
    }
    return render(request, "portal/organization/members.html", context, status=status)


def _detail(request: HttpRequest, member_id: UUID, *, form: GiveForm | None = None, status: int = 200) -> HttpResponse:
    actor, organization = asked(request)
    user = _member(actor, member_id)
    rows = roles_of(actor, [user.pk]).get(user.pk, [])
    choices = place_choices(actor, organization)
    may = holds(actor, Permission.MANAGE_MEMBERS, organization)
    context = {
        "member": _member_row(user, rows),
        "itself": user.pk == actor.id,
        "roles": [_role_row(actor, row) for row in rows],
        "form": (form or GiveForm(choices={"place": choices})) if choices else None,
        "give_url": reverse("member-give", args=[user.pk]),
        "remove_url": reverse("member-remove", args=[user.pk]) if may and rows and user.pk != actor.id else "",
        "organization": organization.name,
    }
    return render(request, "portal/organization/member.html", context, status=status)


def _member(actor: Actor, member_id: UUID) -> User:
    """A member whose roles the actor may see. Raises NotFound."""
    accounts = service_accounts_visible_to(actor).filter(user_id=member_id)
    if not people_of(actor).filter(user_id=member_id).exists() and not accounts.exists():
        raise NotFound("member", member_id)
    return member_by_id(member_id)


def _invite_form(actor: Actor, organization: Organization, request: HttpRequest | None = None) -> InviteForm:
    choices = {"place": place_choices(actor, organization)}
    return InviteForm(request.POST if request else None, choices=choices)


def _member_row(person: User, roles: Sequence[Membership]) -> dict[str, object]:
    is_person = person.kind == PrincipalKind.PERSON
    return {
        "id": person.pk,
        "name": person.full_name or person.email,
        "email": person.email if is_person else "",
        "is_person": is_person,
        "active": person.is_active,
        "url": reverse("member", args=[person.pk]),
        "roles": [{"role": row.get_role_display(), "place": words_of(row.place)} for row in roles],
    }


def _role_row(actor: Actor, row: Membership) -> dict[str, object]:
    place = row.place
    held = permissions_on(actor, place)
    needed = Permission.MANAGE_PROJECT if place.ref.kind == "project" else Permission.MANAGE_MEMBERS
    may = needed in held
    return {
        "id": row.pk,
        "place": words_of(place),
        "kind": place.ref.kind,
        "key": f"{place.ref.kind}:{place.pk}",
        "role": row.role,
        "label": row.get_role_display(),
        "since": row.created_at,
        "by_sso": row.origin == "sso",
        "choices": [{"value": value, "label": label} for value, label in roles_for(place.ref.kind)] if may else [],
        "take_back_url": reverse("membership-take-back", args=[row.pk]) if may or row.user_id == actor.id else "",
    }


def _invitation_row(row: Invitation, inviters: dict[UUID, User], now: datetime) -> dict[str, object]:
    inviter = inviters.get(row.invited_by) if row.invited_by else None
    return {
        "id": row.pk,
        "email": row.email,
        "role": row.get_role_display(),
        "place": words_of(row.place),
        "by": (inviter.full_name or inviter.email) if inviter else "",
        "expires_at": row.expires_at,
        "expired": row.expires_at <= now,
        "mailed_at": row.mailed_at,
        "mail_error": row.mail_error,
        "resend_url": reverse("invitation-resend", args=[row.pk]),
        "revoke_url": reverse("invitation-revoke", args=[row.pk]),
    }
