"""How far a service account reaches, against what those hold who have a token of it or would: never further."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from core.errors import Conflict, Forbidden
from core.types import Actor, ActorKind
from tenants.enums import Permission, PrincipalKind
from tenants.models import AccessToken, Membership, Team, User
from tenants.permissions import Place, permissions_on
from tenants.roles import on_team, permissions_of


def granted_by(role: str, place: Place) -> frozenset[Permission]:
    """What a role held on this very place grants."""
    return on_team(role) if isinstance(place, Team) else permissions_of(role)


def must_hold_all_of(actor: Actor, user_id: UUID) -> None:
    """Raise Forbidden unless the actor holds, on each place of a principal's roles, all that they grant there.

    It is the person's roles that count; what the actor's own token leaves out, the new one's scopes leave out too.
    """
    if user_id == actor.id:
        return
    whole = replace(actor, scopes=None) if actor.operator_id is None else actor
    for held in Membership.objects.filter(user_id=user_id).select_related("organization", "team", "project"):
        missing = granted_by(held.role, held.place) - permissions_on(whole, held.place)
        if missing:
            raise Forbidden(sorted(missing)[0], held.place.ref)


def refuse_beyond_token_makers(user: User, role: str, place: Place, now: datetime) -> None:
    """Raise Conflict where a role would reach further than somebody does who made a living token of the account."""
    if user.kind != PrincipalKind.SERVICE:
        return
    for maker in _makers_of_living_tokens(user.pk, now):
        held = permissions_on(_as_actor(maker, place), place)
        if granted_by(role, place) - held:
            raise Conflict(
                "Somebody who does not hold all that this role grants made a token of this service account. "
                "Revoke or rotate its tokens first.",
                code="token_reaches_further",
            )


def _makers_of_living_tokens(user_id: UUID, now: datetime) -> set[UUID]:
    living = AccessToken.objects.filter(user_id=user_id, revoked_at=None).filter(
        Q(expires_at=None) | Q(expires_at__gt=now)
    )
    return {maker for maker in living.values_list("created_by", flat=True) if maker is not None}


def _as_actor(user_id: UUID, place: Place) -> Actor:
    organization_id = getattr(place, "organization_id", None) or place.pk
    return Actor(kind=ActorKind.USER, id=user_id, organization_id=organization_id)
