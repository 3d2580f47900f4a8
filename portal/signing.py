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
from django.contrib.auth.signals import user_logged_out, user_login_failed
from django.dispatch import receiver
from django.utils import timezone

from core import audit, scope
from core.models import Outcome
from core.scope import Scope
from core.types import Actor, ActorKind, ObjectRef, Reason
from tenants.selectors import organization_ids_of_user, person_by_email

if TYPE_CHECKING:
    from tenants.models import User

UNKNOWN = ObjectRef(kind="person", id="unknown")


def record(person: User, verb: str) -> None:
    """One event about a person's own account."""
    with _scope_of(person) as current:
        actor = Actor(kind=ActorKind.USER, id=person.pk, organization_id=current.organization_id, label=person.email)
        audit.record(actor, verb, ObjectRef(kind="person", id=str(person.pk)), now=timezone.now())


@receiver(signals.user_logged_in)
def signed_in(user: User, **_: object) -> None:
    record(user, "person.signed_in")


@receiver(user_logged_out)
def signed_out(user: User | None, **_: object) -> None:
    if user is not None:
        record(user, "person.signed_out")


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
    actor = Actor(kind=ActorKind.ANONYMOUS, id=None, organization_id=_chain_of(person) if person else None)
    ref = ObjectRef(kind="person", id=str(person.pk)) if person else UNKNOWN
    reason = Reason(code="wrong_credentials", message="The address and the password do not belong together.")
    audit.record_refusal(actor, "person.signed_in", ref, outcome=Outcome.DENIED, reason=reason, now=timezone.now())


def _scope_of(person: User) -> AbstractContextManager[Scope]:
    organization_id = _chain_of(person)
    return scope.of_organization(organization_id) if organization_id else scope.of_platform()


def _chain_of(person: User) -> UUID | None:
    """The organisation that the person acts in, else the first that they belong to; None: the platform."""
    current = scope.current()
    if current is not None:
        return current.organization_id
    return next(iter(organization_ids_of_user(person.pk)), None)
