"""Signing in and out in the audit chain: of the organisation that the person acts in, else of the platform.

A wrong password is a denial in the chain of the organisation whose person it was tried for. An address that belongs to
nobody is not kept: it may be a password typed into the wrong field.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING
from uuid import UUID

from allauth.account import signals
from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa import signals as factors
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib.auth.signals import user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from core import acts, audit, scope
from core.models import Outcome
from core.scope import Scope
from core.types import ANONYMOUS, Actor, ActorKind, Json, ObjectRef, Reason
from tenants.selectors import organization_ids_of_user, person_by_email

if TYPE_CHECKING:
    from tenants.models import User

UNKNOWN = ObjectRef(kind="person", id="unknown")


def record(
    person: User, verb: str, *, organization_id: UUID | None = None, after: Mapping[str, Json] | None = None
) -> None:
    """One event about a person's own account, as an act of its own: a page may do two things at once."""
    with acts.begin(acts.current().source), _scope_of(person, organization_id) as current:
        actor = Actor(kind=ActorKind.USER, id=person.pk, organization_id=current.organization_id, label=person.email)
        audit.record(actor, verb, ObjectRef(kind="person", id=str(person.pk)), now=timezone.now(), after=after)


@receiver(signals.user_logged_in)
def signed_in(request: HttpRequest, user: User, **_: object) -> None:
    record(user, "person.signed_in", after={"by": _ways(request, user)})


@receiver(user_logged_out)
def signed_out(user: User | None, **_: object) -> None:
    if user is not None:
        record(user, "person.signed_out")


@receiver(factors.authenticator_added)
def factor_added(request: HttpRequest, user: User, authenticator: Authenticator, **_: object) -> None:
    codes = authenticator.type == Authenticator.Type.RECOVERY_CODES
    if authenticator.type == Authenticator.Type.TOTP:
        TOTP(authenticator).validate_code(request.POST.get("code", ""))  # used now: it opens nothing any more
    _about_factor(request, user, authenticator, "recovery_codes.made" if codes else "second_factor.added")


@receiver(factors.authenticator_removed)
def factor_removed(request: HttpRequest, user: User, authenticator: Authenticator, **_: object) -> None:
    codes = authenticator.type == Authenticator.Type.RECOVERY_CODES
    if authenticator.type == Authenticator.Type.TOTP:
        TOTP(authenticator).validate_code(request.POST.get("code", ""))  # used now: it opens nothing any more
    _about_factor(request, user, authenticator, "recovery_codes.removed" if codes else "second_factor.removed")


@receiver(factors.authenticator_reset)
def codes_made(request: HttpRequest, user: User, authenticator: Authenticator, **_: object) -> None:
    _about_factor(request, user, authenticator, "recovery_codes.made")


@receiver(factors.authentication_failed)
def factor_failed(user: User, reauthentication: bool = False, **_: object) -> None:
    verb = "person.confirmed" if reauthentication else "person.signed_in"
    _denied(user, verb, Reason(code="wrong_code", message="The code of the second factor is wrong or was used before."))


@receiver(signals.password_changed)
def password_changed(user: User, **_: object) -> None:
    record(user, "person.password_changed")


@receiver(signals.password_set)
def password_set(user: User, **_: object) -> None:
    record(user, "person.password_set")


@receiver(signals.password_reset)
def password_reset(user: User, **_: object) -> None:
    record(user, "person.password_reset")


@receiver(user_login_failed)
def sign_in_failed(credentials: Mapping[str, object], **_: object) -> None:
    person = person_by_email(str(credentials.get("email", "")))
    reason = Reason(code="wrong_credentials", message="The address and the password do not belong together.")
    _denied(person, "person.signed_in", reason)


def _denied(person: User | None, verb: str, reason: Reason) -> None:
    organization_id = _chain_of(person) if person else None
    actor = Actor(kind=ActorKind.ANONYMOUS, id=None, organization_id=organization_id)
    ref = ObjectRef(kind="person", id=str(person.pk)) if person else UNKNOWN
    audit.record_refusal(actor, verb, ref, outcome=Outcome.DENIED, reason=reason, now=timezone.now())


def _about_factor(request: HttpRequest, user: User, authenticator: Authenticator, verb: str) -> None:
    """Told after the commit, when the request's own scope is closed: the request says where it happened."""
    actor: Actor = getattr(request, "actor", ANONYMOUS)
    record(user, verb, organization_id=actor.organization_id, after={"kind": str(authenticator.type)})


def _ways(request: HttpRequest, user: User) -> list[Json]:
    """What the person showed: `password`, `totp`, `webauthn`, `recovery_codes`."""
    records = get_authentication_records(request, user)
    return [str(each.get("type") or each.get("method", "")) for each in records]


def _scope_of(person: User, organization_id: UUID | None) -> AbstractContextManager[Scope]:
    found = organization_id or _chain_of(person)
    return scope.of_organization(found) if found else scope.of_platform()


def _chain_of(person: User) -> UUID | None:
    """The organisation that the person acts in, else the first that they belong to; None: the platform."""
    current = scope.current()
    if current is not None:
        return current.organization_id
    return next(iter(organization_ids_of_user(person.pk)), None)
