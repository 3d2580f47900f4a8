"""Personal access tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from core import audit
from core.errors import FieldError, Invalid, NotFound
from core.types import Actor
from tenants.credentials import hash_secret, new_secret, shown_prefix
from tenants.enums import Permission
from tenants.models import AccessToken, Organization
from tenants.selectors import credential_of
from tenants.types import Credential

LAST_USED_GRAIN = timedelta(minutes=1)


@transaction.atomic
def create(
    *,
    actor: Actor,
    organization: Organization,
    name: str,
    scopes: Sequence[str],
    expires_at: datetime | None,
    now: datetime,
    secret: str | None = None,
) -> tuple[AccessToken, str]:
    """A token of the actor's own, and its secret, which is never shown again.

    `secret` lets an installation choose the value it hands to scripts. Raises Invalid for an unknown scope or a past
    expiry, and for a token that would reach further than the one that asks.
    """
    _check(actor, scopes, expires_at, now)
    value = secret or new_secret()
    token = AccessToken.objects.create(
        organization=organization,
        user_id=actor.person_id,
        name=name,
        prefix=shown_prefix(value),
        secret_hash=hash_secret(value),
        scopes=sorted(scopes) or sorted(actor.scopes or []),
        created_at=now,
        expires_at=expires_at,
    )
    audit.record(actor, "token.created", token.ref, now=now, after={"name": name, "scopes": list(token.scopes)})
    return token, value


@transaction.atomic
def revoke(*, actor: Actor, token_id: UUID, now: datetime) -> None:
    """End one of the actor's own tokens at once. Raises NotFound for any other."""
    token = (
        AccessToken.objects.select_for_update().filter(pk=token_id, user_id=actor.person_id, revoked_at=None).first()
    )
    if token is None:
        raise NotFound("token", token_id)
    token.revoked_at = now
    token.save(update_fields=["revoked_at"])
    audit.record(actor, "token.revoked", token.ref, now=now)


def living(*, token_id: UUID, now: datetime) -> Credential | None:
    """What the token stands for, if it may still be used now; notes the use to the minute."""
    found = credential_of(token_id, now=now)
    if found is None:
        return None
    if found.last_used_at is None or now - found.last_used_at > LAST_USED_GRAIN:
        AccessToken.objects.filter(pk=token_id).update(last_used_at=now)
    return found


def generate_secret() -> str:
    """A value that `create` takes as `secret`, for an installation that must know it beforehand."""
    return new_secret()


def _check(actor: Actor, scopes: Sequence[str], expires_at: datetime | None, now: datetime) -> None:
    errors = [
        FieldError(
            "scopes", "unknown_scope", f"There is no scope {scope}. Scopes are permissions, such as view_workload."
        )
        for scope in scopes
        if scope not in Permission.values
    ]
    if actor.scopes is not None:
        errors += [
            FieldError("scopes", "too_wide", f"The token that asks does not hold {scope} itself.")
            for scope in scopes
            if scope in Permission.values and scope not in actor.scopes
        ]
    if expires_at is not None and expires_at <= now:
        errors.append(FieldError("expires_at", "past", "Choose an expiry in the future."))
    if errors:
        raise Invalid(errors)
