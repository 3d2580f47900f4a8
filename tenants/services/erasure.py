"""Erasing a person: the id stays, so that audit and invoices still add up; everything that names them goes."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import Exists, OuterRef

from core import audit
from core.errors import Conflict, NotFound
from core.types import Actor, Json, ObjectRef
from tenants.enums import PlatformPermission, PrincipalKind, Role
from tenants.models import ExternalIdentity, Invitation, Membership, User
from tenants.permissions import authorize_platform
from tenants.services import memberships
from tenants.services.endings import end_sessions, end_tokens

ERASED_NAME = "Erased person"


def placeholder_of(user_id: UUID) -> str:
    """An address that names nobody and can receive nothing (RFC 2606)."""
    return f"erased-{user_id}@erased.invalid"


@transaction.atomic
def erase_person(*, actor: Actor, user_id: UUID, now: datetime) -> None:
    """Replace name and address, end sessions, tokens, factors and roles. It cannot be taken back.

    An act of the platform, in its scope. Raises Conflict where an organisation would be left without an owner.
    """
    authorize_platform(actor, PlatformPermission.MANAGE_TENANTS)
    user = User.objects.select_for_update().filter(pk=user_id).first()
    if user is None:
        raise NotFound("person", user_id)
    _refuse_last_owner(user)
    address = user.email
    held = list(Membership.objects.filter(user=user).select_related("organization", "team", "project"))
    memberships.erase(held)
    ended: dict[str, Json] = {
        "roles": len(held),
        "tokens": end_tokens([user.pk], now),
        "sessions": end_sessions([user.pk], now),
        "factors": Authenticator.objects.filter(user=user).delete()[0],
        "identities": ExternalIdentity.objects.filter(user=user).delete()[0],
    }
    EmailAddress.objects.filter(user=user).delete()
    Invitation.objects.filter(email__iexact=address).update(email=placeholder_of(user.pk))
    user.email, user.full_name = placeholder_of(user.pk), ERASED_NAME
    user.password, user.is_active, user.platform_role = make_password(None), False, ""
    user.save(update_fields=["email", "full_name", "password", "is_active", "platform_role"])
    audit.record(actor, "person.erased", ObjectRef("person", str(user.pk)), now=now, after=ended)


def _refuse_last_owner(user: User) -> None:
    others = Membership.objects.filter(
        organization=OuterRef("organization"),
        role=Role.OWNER,
        user__is_active=True,
        user__kind=PrincipalKind.PERSON,
    ).exclude(user=user)
    alone = Membership.objects.filter(user=user, role=Role.OWNER).exclude(Exists(others)).first()
    if alone is not None:
        raise Conflict(
            f"{alone.organization.name} would be left without an owner. Make somebody else an owner first.",
            code="last_owner",
        )
