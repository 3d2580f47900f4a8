"""Who asks: a bearer token or the portal's session, and the organisation in which they act."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.http import HttpRequest

from core.errors import Forbidden
from core.routes import AUTHENTICATED, Route
from core.types import ANONYMOUS, NOBODY, Actor, ActorKind, ObjectRef
from tenants.selectors import organization_ids_of_user, token_by_secret
from tenants.selectors.sign_in import session_standing
from tenants.services import impersonations, tokens

SESSION_ORGANIZATION = "organization_id"
SESSION_PROJECT = "project"
SESSION_PROVIDER = "identity_provider"
"""The provider of an organisation by which the session was opened: it is valid for that organisation alone."""
SESSION_IMPERSONATION = "impersonation"
"""[id, organisation's id] of an impersonation that this session's person has begun."""

ENDS_IMPERSONATION = "impersonation.ended"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a request says of itself before a scope is open."""

    organization_id: UUID | None = None
    user_id: UUID | None = None
    token_id: UUID | None = None
    session_key: str = ""
    impersonation_id: UUID | None = None
    provider_id: UUID | None = None
    refused: bool = False


def claim(request: HttpRequest) -> Claimed:
    """Find the organisation and the credential. Touches no tenant table; `refused` means a credential was wrong."""
    header = request.headers.get("Authorization", "")
    if header:
        return _claimed_by_token(header)
    user = request.user
    if not user.is_authenticated:
        return Claimed()
    begun = request.session.get(SESSION_IMPERSONATION)
    if begun is not None:
        return Claimed(
            organization_id=UUID(begun[1]),
            user_id=user.pk,
            session_key=request.session.session_key or "",
            impersonation_id=UUID(begun[0]),
        )
    organizations = organization_ids_of_user(user.pk)
    chosen = request.session.get(SESSION_ORGANIZATION)
    active = next((found for found in organizations if str(found) == chosen), None)
    provider = request.session.get(SESSION_PROVIDER)
    if active is None and not provider and organizations:
        active = organizations[0]
    return Claimed(
        organization_id=active,
        user_id=user.pk,
        session_key=request.session.session_key or "",
        provider_id=UUID(provider) if provider else None,
    )


def is_bound(request: HttpRequest) -> bool:
    """Whether the session was opened by an organisation's provider, and so speaks in that organisation alone."""
    return SESSION_PROVIDER in request.session


def actor_of(request: HttpRequest, claimed: Claimed, *, now: datetime) -> Actor:
    """The actor, inside the scope of the claimed organisation. Says on the request if a second factor is missing."""
    if claimed.token_id is not None:
        return _actor_of_token(request, claimed, now)
    if claimed.user_id is None:
        return ANONYMOUS
    if claimed.impersonation_id is not None:
        return _actor_for_somebody(request, claimed, claimed.impersonation_id, now)
    if claimed.organization_id is not None:
        standing = session_standing(claimed.organization_id, claimed.user_id, claimed.provider_id)
        if standing.provider_gone:
            return ANONYMOUS
        request.awaits_second_factor = standing.awaits_second_factor  # type: ignore[attr-defined]
    return Actor(
        kind=ActorKind.USER,
        id=claimed.user_id,
        organization_id=claimed.organization_id,
        label=request.user.email,  # type: ignore[union-attr]
        session_key=claimed.session_key,
        platform_role="" if claimed.provider_id else request.user.platform_role,  # type: ignore[union-attr]
        bound=claimed.provider_id is not None,
    )


def is_for_the_person_alone(actor: Actor, route: Route, method: str) -> bool:
    """Whether somebody who acts for this actor must not: what needs only to be signed in is about the person itself,
    their tokens, organisations and invitations."""
    if actor.operator_id is None or method in _SAFE or route.verb == ENDS_IMPERSONATION:
        return False
    return route.permission == AUTHENTICATED


def for_the_person_alone(actor: Actor) -> Forbidden:
    return Forbidden("own_account", ObjectRef("person", str(actor.id)), ask="the person themselves")


def _actor_for_somebody(request: HttpRequest, claimed: Claimed, impersonation_id: UUID, now: datetime) -> Actor:
    """Whom the session's person acts for; nobody in the request that finds it over, themselves in the next."""
    row = impersonations.living(impersonation_id=impersonation_id, operator_id=claimed.user_id or NOBODY, now=now)
    if row is None:
        request.session.pop(SESSION_IMPERSONATION, None)
        request.impersonation_over = True  # type: ignore[attr-defined]
        return ANONYMOUS
    request.impersonation = row  # type: ignore[attr-defined]
    return impersonations.actor_of(row, session_key=claimed.session_key)


def _claimed_by_token(header: str) -> Claimed:
    scheme, _, secret = header.partition(" ")
    secret = secret.strip()
    found = token_by_secret(secret) if scheme.lower() == "bearer" else None
    if found is None:
        return Claimed(refused=True)
    return Claimed(organization_id=found[0], token_id=found[1])


def _actor_of_token(request: HttpRequest, claimed: Claimed, now: datetime) -> Actor:
    assert claimed.token_id is not None
    token = tokens.living(token_id=claimed.token_id, now=now)
    if token is None:
        return ANONYMOUS
    request.awaits_second_factor = token.awaits_second_factor  # type: ignore[attr-defined]
    return Actor(
        kind=ActorKind.SERVICE_ACCOUNT if token.is_service_account else ActorKind.USER,
        id=token.user_id,
        organization_id=token.organization_id,
        label=token.email,
        token_id=token.token_id,
        scopes=frozenset(token.scopes) if token.scopes else None,
        platform_role=token.platform_role,
    )
