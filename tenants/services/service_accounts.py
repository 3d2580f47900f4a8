"""Service accounts: principals without a person. They act by tokens alone and hold roles like anybody."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction

from core import audit
from core.errors import Conflict, FieldError, Invalid, NotFound, Stale
from core.ids import uuid7
from core.names import fault_in_name
from core.types import Actor, Json
from tenants.enums import Permission, PrincipalKind
from tenants.models import Membership, Organization, ServiceAccount, User
from tenants.permissions import authorize
from tenants.selectors.places import service_accounts_visible_to
from tenants.services import memberships
from tenants.services.endings import end_tokens
from tenants.services.reach import must_hold_all_of
from tenants.services.standing import refuse_closed

DOMAIN = "service.invalid"
"""Addresses under `.invalid` never resolve: no mail, and so no new password, can reach one."""


@transaction.atomic
def create(
    *, actor: Actor, organization: Organization, name: str, description: str = "", now: datetime
) -> ServiceAccount:
    """A principal that can never sign in: no password, an address that no mail reaches. It may do nothing yet."""
    authorize(actor, Permission.MANAGE_SERVICE_ACCOUNTS, organization)
    refuse_closed(organization)
    words = _checked(name, description)
    key = uuid7()
    user = User(pk=key, email=f"{key}@{DOMAIN}", full_name=words[0], kind=PrincipalKind.SERVICE)
    user.set_unusable_password()
    user.save(force_insert=True)
    try:
        with transaction.atomic():
            account = ServiceAccount.objects.create(
                organization=organization,
                user=user,
                name=words[0],
                description=words[1],
                created_by=actor.id,
                created_at=now,
            )
    except IntegrityError:
        raise Invalid([FieldError("name", "taken", f"There is or was a service account {words[0]}.")]) from None
    audit.record(actor, "service_account.created", account.ref, now=now, after={"name": account.name})
    return account


@transaction.atomic
def describe(
    *,
    actor: Actor,
    account_id: UUID,
    name: str | None = None,
    description: str | None = None,
    now: datetime,
    expected_version: int | None = None,
) -> ServiceAccount:
    account = _locked(actor, account_id, expected_version)
    before: dict[str, Json] = {"name": account.name, "description": account.description}
    words = _checked(
        account.name if name is None else name, account.description if description is None else description
    )
    account.name, account.description = words
    account.version += 1
    try:
        with transaction.atomic():
            account.save(update_fields=["name", "description", "version"])
    except IntegrityError:
        raise Invalid([FieldError("name", "taken", f"There is or was a service account {words[0]}.")]) from None
    User.objects.filter(pk=account.user_id).update(full_name=account.name)
    after: dict[str, Json] = {"name": account.name, "description": account.description}
    audit.record(actor, "service_account.changed", account.ref, now=now, before=before, after=after)
    return account


@transaction.atomic
def disable(*, actor: Actor, account_id: UUID, now: datetime, expected_version: int | None = None) -> ServiceAccount:
    """For good: its tokens end at once, its roles are taken back; its name stays taken, since the audit log has it.

    Only for one who holds all that the account holds.
    """
    account = _locked(actor, account_id, expected_version)
    if account.disabled_at is not None:
        raise Conflict(f"{account.name} is disabled already.", code="disabled")
    must_hold_all_of(actor, account.user_id)
    ended = shut([account], now)
    audit.record(actor, "service_account.disabled", account.ref, now=now, after={"tokens_ended_count": ended})
    return account


def shut(accounts: list[ServiceAccount], now: datetime) -> int:
    """Disable these, for an act that records itself; how many tokens ended."""
    users = [account.user_id for account in accounts]
    for account in accounts:
        account.disabled_at = now
        account.version += 1
        account.save(update_fields=["disabled_at", "version"])
    User.objects.filter(pk__in=users).update(is_active=False)
    memberships.erase(Membership.objects.filter(user_id__in=users).select_related("organization", "team", "project"))
    return end_tokens(users, now)


def account_by_id(actor: Actor, account_id: UUID) -> ServiceAccount:
    """One that the actor may see. Raises NotFound otherwise."""
    found = service_accounts_visible_to(actor).filter(pk=account_id).first()
    if found is None:
        raise NotFound("service_account", account_id)
    return found


def _locked(actor: Actor, account_id: UUID, expected_version: int | None) -> ServiceAccount:
    found = account_by_id(actor, account_id)
    authorize(actor, Permission.MANAGE_SERVICE_ACCOUNTS, found.organization)
    refuse_closed(found.organization)
    rows = ServiceAccount.objects.select_for_update(of=("self",)).select_related("user", "organization")
    locked = rows.get(pk=account_id)
    if expected_version is not None and locked.version != expected_version:
        raise Stale("The service account has changed since you read it. Read it again, then send your change.")
    return locked


def _checked(name: str, description: str) -> tuple[str, str]:
    faults = (
        fault_in_name("name", name, most=60),
        fault_in_name("description", description, most=200, blank=True),
    )
    errors = [fault for fault in faults if fault is not None]
    if errors:
        raise Invalid(errors)
    return name.strip(), description.strip()
