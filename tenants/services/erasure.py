"""Erasing a person: the id stays, so that audit and invoices still add up; everything that names them goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import groupby
from uuid import UUID

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.auth.hashers import make_password
from django.db import transaction

from core import audit
from core.errors import Conflict, FieldError, Forbidden, Invalid, NotFound, Refused
from core.types import Actor, Json, ObjectRef, Reason
from tenants.enums import PlatformPermission, PrincipalKind
from tenants.models import AccessToken, ExternalIdentity, Membership, User
from tenants.models.users import ERASED_AT
from tenants.permissions import authorize_platform
from tenants.selectors.erasure import last_administrator, organizations_left_alone
from tenants.services import approvals, impersonations, memberships
from tenants.services.endings import end_sessions, end_tokens
from tenants.services.words import take_out

ERASED_NAME = "Erased person"
SHORTEST_REASON, LONGEST_REASON = 10, 300
Work = Callable[[UUID], Sequence[Reason]]
"""Why a person's work stands against erasing them; asked of the apps that know of it."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """How many of each a person has; they end with the person."""

    roles: int
    tokens: int
    sessions: int
    factors: int
    identities: int

    def as_json(self) -> dict[str, Json]:
        return dict(asdict(self))


@dataclass(frozen=True, slots=True)
class Prospect:
    """What erasing a person would end, and everything that stands against it."""

    person: User
    holds: Holdings
    hindered_by: tuple[Reason, ...]


def placeholder_of(user_id: UUID) -> str:
    return f"erased-{user_id}{ERASED_AT}"


def prospect(*, actor: Actor, user_id: UUID, work: Work, now: datetime) -> Prospect:
    """What would go and what hinders, in the platform's scope. Raises as `erase_person` does."""
    user = _person(actor, user_id)
    holds = Holdings(
        roles=Membership.objects.filter(user=user).count(),
        tokens=AccessToken.objects.filter(user=user, revoked_at=None).exclude(expires_at__lte=now).count(),
        sessions=UserSession.objects.filter(user=user).count(),
        factors=Authenticator.objects.filter(user=user).count(),
        identities=ExternalIdentity.objects.filter(user=user).count(),
    )
    return Prospect(user, holds, _hindrances(user, work))


@transaction.atomic
def erase_person(
    *, actor: Actor, user_id: UUID, confirmed: str, work: Work, now: datetime, reason: str = ""
) -> Holdings:
    """Replace name and address, end sessions, tokens, factors and roles. It cannot be taken back.

    In the platform's scope: by the person themselves, or by the platform for a reason. `confirmed` is the person's
    address, typed. It is recorded in the platform's chain and in that of every organisation that the person belonged
    to. Raises NotFound for a stranger, Conflict for one who is erased, Refused with everything that stands against it.
    """
    _person(actor, user_id)
    user = User.objects.select_for_update().get(pk=user_id)
    _check(actor, user, confirmed, reason)
    hindered_by = _hindrances(user, work)
    if hindered_by:
        raise Refused(hindered_by, ref=_ref(user), code="still_needed")
    held = list(Membership.objects.filter(user=user).select_related("organization", "team", "project"))
    ended = _end(user, held, now)
    _forget(user, now)
    after: dict[str, Json] = ended.as_json() | ({"reason": reason.strip()} if reason.strip() else {})
    audit.record(actor, "person.erased", _ref(user), now=now, after=after)
    by_organization = sorted(held, key=lambda row: row.organization_id)
    for organization_id, rows in groupby(by_organization, key=lambda row: row.organization_id):
        roles: list[Json] = [*sorted(row.role for row in rows)]
        before, left = {"roles": roles}, {"roles": list[Json]()}
        audit.record(
            actor, "person.erased", _ref(user), now=now, before=before, after=left, organization_id=organization_id
        )
    return ended


def _person(actor: Actor, user_id: UUID) -> User:
    """The person, for themselves and for the platform. Who acts for them, or was let in for one organisation, is
    neither."""
    ref = ObjectRef("person", str(user_id))
    if user_id != actor.id:
        authorize_platform(actor, PlatformPermission.MANAGE_TENANTS, ref)
    elif actor.operator_id is not None or actor.bound or actor.scopes is not None:
        raise Forbidden("own_account", ref, ask="the person themselves, signed in by their own means")
    user = User.objects.filter(pk=user_id, kind=PrincipalKind.PERSON).first()
    if user is None:
        raise NotFound("person", user_id)
    if user.is_erased:
        raise Conflict("This person is erased already.", code="already_erased")
    return user


def _check(actor: Actor, user: User, confirmed: str, reason: str) -> None:
    errors = []
    if confirmed.strip().lower() != user.email:
        errors.append(FieldError("confirmed", "not_the_address", "Type the e-mail address of the account to confirm."))
    length = len(reason.strip())
    if actor.id != user.pk and not actor.is_system and length < SHORTEST_REASON:
        message = f"Say why, in at least {SHORTEST_REASON} letters: the platform's audit log keeps it."
        errors.append(FieldError("reason", "too_short", message))
    if length > LONGEST_REASON:
        errors.append(FieldError("reason", "too_long", f"Say why in at most {LONGEST_REASON} letters."))
    if _names(reason, user):
        message = "Say it without the person's name and address: the audit log keeps the reason for ever."
        errors.append(FieldError("reason", "names_the_person", message))
    if errors:
        raise Invalid(errors)


def _names(text: str, user: User) -> bool:
    """Whether a text says the person's address, or a word of their name."""
    said = {word.lower() for word in re.findall(r"\w+", text)}
    named = {word.lower() for word in re.findall(r"\w+", user.full_name) if len(word) > 1}
    return user.email in text.lower() or bool(said & named)


def _hindrances(user: User, work: Work) -> tuple[Reason, ...]:
    """Everything at once, each with what to do about it."""
    alone = [
        Reason(
            code="last_owner",
            message=f"{organization.name} would be left without an owner. Make somebody else an owner, or close it.",
        )
        for organization in organizations_left_alone(user)
    ]
    if last_administrator(user):
        message = "The platform would be left without an administrator. Make somebody else one first."
        alone.append(Reason(code="last_administrator", message=message))
    return (*alone, *work(user.pk))


def _end(user: User, held: list[Membership], now: datetime) -> Holdings:
    memberships.erase(held)
    approvals.void_asked_by(user.pk, now=now)
    impersonations.end_all_with(user.pk, now=now)
    sessions = end_sessions([user.pk], now)
    UserSession.objects.filter(user=user).delete()
    return Holdings(
        roles=len(held),
        tokens=end_tokens([user.pk], now),
        sessions=sessions,
        factors=Authenticator.objects.filter(user=user).delete()[0],
        identities=ExternalIdentity.objects.filter(user=user).delete()[0],
    )


def _forget(user: User, now: datetime) -> None:
    EmailAddress.objects.filter(user=user).delete()
    take_out(address=user.email, user_id=user.pk, placeholder=placeholder_of(user.pk), now=now)
    user.email, user.full_name = placeholder_of(user.pk), ERASED_NAME
    user.password, user.is_active, user.platform_role = make_password(None), False, ""
    user.time_zone, user.last_login = "UTC", None
    user.save()


def _ref(user: User) -> ObjectRef:
    return ObjectRef("person", str(user.pk))
