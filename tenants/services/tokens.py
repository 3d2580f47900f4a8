"""Access tokens: a person's own, and those of service accounts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from core import audit
from core.errors import Conflict, FieldError, Invalid, NotFound
from core.names import checked_name
from core.timezones import NOT_AN_INSTANT, is_in_reach
from core.types import Actor, Json
from tenants.credentials import hash_secret, new_secret, shown_prefix
from tenants.enums import Permission, PrincipalKind
from tenants.models import AccessToken, Organization
from tenants.permissions import authorize, holds
from tenants.selectors import credential_of
from tenants.selectors.places import service_accounts_visible_to
from tenants.services.reach import must_hold_all_of
from tenants.types import Credential

LONGEST_OVERLAP = timedelta(hours=24)
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
    name = checked_name("name", name, most=80)
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
def create_for_account(
    *,
    actor: Actor,
    account_id: UUID,
    name: str,
    scopes: Sequence[str],
    expires_at: datetime | None,
    now: datetime,
) -> tuple[AccessToken, str]:
    """A token of a service account, and its secret. It reaches as far as the account's roles do, within its scopes.

    Nobody makes one of an account that may do what they may not do themselves: Forbidden. Raises Conflict for an
    account that is disabled.
    """
    account = service_accounts_visible_to(actor).select_related("organization").filter(pk=account_id).first()
    if account is None:
        raise NotFound("service_account", account_id)
    authorize(actor, Permission.MANAGE_SERVICE_ACCOUNTS, account.organization)
    if account.disabled_at is not None:
        raise Conflict(f"{account.name} is disabled for good.", code="disabled")
    must_hold_all_of(actor, account.user_id)
    name = checked_name("name", name, most=80)
    _check(actor, scopes, expires_at, now)
    value = new_secret()
    token = AccessToken.objects.create(
        organization=account.organization,
        user_id=account.user_id,
        name=name,
        prefix=shown_prefix(value),
        secret_hash=hash_secret(value),
        scopes=sorted(scopes) or sorted(actor.scopes or []),
        created_by=actor.id,
        created_at=now,
        expires_at=expires_at,
    )
    after: dict[str, Json] = {"name": name, "scopes": [*token.scopes], "account": account.name}
    audit.record(actor, "token.created", token.ref, now=now, after=after)
    return token, value


@transaction.atomic
def rotate(*, actor: Actor, token_id: UUID, overlap: timedelta, now: datetime) -> tuple[AccessToken, str]:
    """A new token in the place of one's own or a service account's, with its name, scopes and span; and its secret.

    The former one dies at once, or after the overlap, so that scripts can change over. Raises Invalid for an overlap of
    more than a day, and Forbidden for one who does not hold all that the service account holds: they get its secret.
    """
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        raise Invalid([FieldError("overlap_seconds", "too_long", "The former token lives on for at most a day.")])
    former = _within_reach(actor, token_id, now)
    _not_wider(actor, former)
    must_hold_all_of(actor, former.user_id)
    value = new_secret()
    span = former.expires_at - former.created_at if former.expires_at else None
    token = AccessToken.objects.create(
        organization=former.organization,
        user_id=former.user_id,
        name=former.name,
        prefix=shown_prefix(value),
        secret_hash=hash_secret(value),
        scopes=former.scopes,
        created_by=former.created_by if former.user_id == actor.id else actor.id,
        rotated_from=former.pk,
        created_at=now,
        expires_at=now + span if span else None,
    )
    if overlap:
        former.expires_at = min(former.expires_at or now + overlap, now + overlap)
    else:
        former.revoked_at = now
    former.save(update_fields=["expires_at", "revoked_at"])
    ends_at = former.expires_at if overlap and former.expires_at else now
    after: dict[str, Json] = {"former": str(former.pk), "former_ends_at": ends_at.isoformat()}
    audit.record(actor, "token.rotated", token.ref, now=now, after=after)
    return token, value


@transaction.atomic
def revoke(*, actor: Actor, token_id: UUID, now: datetime) -> None:
    """End one of the actor's own tokens, or a service account's, at once. Raises NotFound for any other."""
    token = _within_reach(actor, token_id, now)
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


def _within_reach(actor: Actor, token_id: UUID, now: datetime) -> AccessToken:
    """A living token that is the actor's own, or a service account's where the actor manages those; locked."""
    rows = AccessToken.objects.select_for_update(of=("self",)).select_related("organization", "user")
    token = rows.filter(pk=token_id, revoked_at=None).exclude(expires_at__lte=now).first()
    if token is not None and token.user_id == actor.person_id:
        return token
    of_account = token is not None and token.user.kind == PrincipalKind.SERVICE
    if token is not None and of_account and holds(actor, Permission.MANAGE_SERVICE_ACCOUNTS, token.organization):
        return token
    raise NotFound("token", token_id)


def _not_wider(actor: Actor, token: AccessToken) -> None:
    if actor.scopes is not None and not (token.scopes and actor.scopes.issuperset(token.scopes)):
        raise Invalid([FieldError("", "too_wide", "The token that asks does not hold all that this one may.")])


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
    elif expires_at is not None and not is_in_reach(expires_at):
        errors.append(FieldError("expires_at", "out_of_reach", NOT_AN_INSTANT))
    if errors:
        raise Invalid(errors)
