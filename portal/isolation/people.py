"""The callers: made up for the proof, each inside a transaction that is undone, so that no real account is used."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import transaction

from core import acts, scope
from core.acts import Source, SourceKind
from core.types import Actor, ActorKind, system_actor
from portal.isolation.asking import Credentials
from portal.isolation.objects import Objects
from portal.isolation.words import Caller, Party, Side
from tenants.enums import Role
from tenants.selectors import organization_by_id, project_by_id
from tenants.selectors.roles import role_matrix
from tenants.services import memberships, people, tokens

if TYPE_CHECKING:
    from tenants.models import User

MAKER = system_actor("prove_isolation", None)
_DOMAIN = "proof.invalid"
_BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with one role, and what they show at the door."""

    actor: Actor
    shown: Credentials


@contextmanager
def undone() -> Iterator[None]:
    """The outermost transaction of this connection; whatever was written in it never was."""
    with transaction.atomic(durable=True):
        try:
            yield
        finally:
            transaction.set_rollback(True)


def has_a_place(caller: Caller, home: Objects) -> bool:
    """Whether the role can be held there: a project's needs a project."""
    return caller.side is Side.VISITOR or home.project_id is not None or _is_of_the_organization(_role(caller))


def appear(caller: Caller, home: Objects, *, now: datetime) -> Person:
    """The person of a caller, with its role in `home`. The platform's people belong there too, with the least of
    roles, since a token is always of an organisation."""
    platform_role = caller.role if caller.side is Side.PLATFORM else ""
    with acts.begin(Source(SourceKind.COMMAND)), scope.of_platform():
        user = people.create_person(
            actor=MAKER,
            email=f"{caller.name.replace('.', '-').replace('_', '-')}-{secrets.token_hex(8)}@{_DOMAIN}",
            password=secrets.token_urlsafe(32),
            full_name="Proof of isolation",
            time_zone="UTC",
            platform_role=platform_role,
            now=now,
        )
    Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={})  # where organisations ask for one
    _join(user, _role(caller), home, now)
    actor = Actor(ActorKind.USER, user.pk, home.party.id, label=user.email, platform_role=platform_role)
    return Person(actor, Credentials(_session(user), _token(actor, home.party, now)))


def _role(caller: Caller) -> str:
    return Role.BILLING if caller.side is Side.PLATFORM else caller.role


def _join(user: User, role: str, home: Objects, now: datetime) -> None:
    with acts.begin(Source(SourceKind.COMMAND)), scope.of_organization(home.party.id):
        in_project = None if _is_of_the_organization(role) else home.project_id
        memberships.grant(
            actor=MAKER,
            organization=organization_by_id(home.party.id),
            user=user,
            role=role,
            project=project_by_id(in_project) if in_project else None,
            now=now,
        )


def _token(actor: Actor, party: Party, now: datetime) -> str:
    with acts.begin(Source(SourceKind.COMMAND)), scope.of_organization(party.id):
        _, secret = tokens.create(
            actor=actor,
            organization=organization_by_id(party.id),
            name="proof",
            scopes=(),
            expires_at=None,
            now=now,
        )
    return secret


def _session(user: User) -> str:
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = _BACKEND
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


def _is_of_the_organization(role: str) -> bool:
    columns = {column.name: column.held_on for column in role_matrix().columns}
    return columns[role] == "organisation"
