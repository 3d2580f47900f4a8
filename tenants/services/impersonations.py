"""Impersonation: begun for a reason, ended by the clock or by hand, recorded in the chain of those whom it concerns."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from core import audit
from core.errors import Conflict, FieldError, Invalid, NotFound
from core.types import Actor, ActorKind
from tenants.enums import PlatformPermission, PrincipalKind
from tenants.models import Impersonation, Membership, User
from tenants.permissions import authorize_platform
from tenants.roles import IMPERSONATION_PERMISSIONS, platform_permissions_of

SHORTEST_REASON = 10
LONGEST = timedelta(hours=1)


@transaction.atomic
def begin(*, actor: Actor, person_id: UUID, reason: str, lasts: timedelta, now: datetime) -> Impersonation:
    """Let one of the platform's people act for a member of the scope's organisation.

    Raises Invalid without a reason of ten letters or for longer than an hour, NotFound for one who is no member, and
    Conflict for somebody who may not be acted for: the platform's own people, service accounts, oneself.
    """
    authorize_platform(actor, PlatformPermission.IMPERSONATE)
    _check(reason, lasts)
    membership = Membership.objects.filter(user_id=person_id, user__is_active=True).select_related("user").first()
    if membership is None:
        raise NotFound("member", person_id)
    _may_be_acted_for(actor, membership.user)
    row = Impersonation.objects.create(
        organization_id=membership.organization_id,
        operator_id=actor.person_id,
        person_id=person_id,
        reason=reason.strip(),
        started_at=now,
        ends_at=now + lasts,
    )
    after = {"person": str(person_id), "reason": row.reason, "ends_at": row.ends_at.isoformat()}
    audit.record(actor, "impersonation.begun", row.ref, now=now, after=after)
    return row


@transaction.atomic
def end(*, actor: Actor, impersonation_id: UUID, now: datetime) -> None:
    """End it before its time. Ending twice ends once."""
    row = (
        Impersonation.objects.select_for_update()
        .filter(pk=impersonation_id, operator_id=actor.operator_id or actor.person_id)
        .first()
    )
    if row is None:
        raise NotFound("impersonation", impersonation_id)
    if row.ended_at is None:
        row.ended_at = min(now, row.ends_at)
        row.save(update_fields=["ended_at"])
    audit.record(actor, "impersonation.ended", row.ref, now=now, after={"person": str(row.person_id)})


@transaction.atomic
def end_all_with(person_id: UUID, *, now: datetime) -> None:
    """End what a person does for others and others do for them, for an act that records itself."""
    begun = Impersonation.objects.filter(Q(operator_id=person_id) | Q(person_id=person_id))
    begun.filter(ended_at=None, ends_at__gt=now).update(ended_at=now)


def living(*, impersonation_id: UUID, operator_id: UUID, now: datetime) -> Impersonation | None:
    """It, if it still holds: not over, its operator still allowed to, its person still a member."""
    row = (
        Impersonation.objects.select_related("person", "operator")
        .filter(pk=impersonation_id, operator_id=operator_id, ended_at=None, ends_at__gt=now)
        .first()
    )
    if row is None or not (row.operator.is_active and row.person.is_active):
        return None
    if PlatformPermission.IMPERSONATE not in platform_permissions_of(row.operator.platform_role):
        return None
    return row if Membership.objects.filter(user_id=row.person_id).exists() else None


def actor_of(row: Impersonation, *, session_key: str) -> Actor:
    """The person, narrowed to seeing and working; the audit names the operator, on the person's behalf."""
    return Actor(
        kind=ActorKind.USER,
        id=row.person_id,
        organization_id=row.organization_id,
        label=row.person.email,
        scopes=frozenset(IMPERSONATION_PERMISSIONS),
        session_key=session_key,
        operator_id=row.operator_id,
    )


def _check(reason: str, lasts: timedelta) -> None:
    errors = []
    if len(reason.strip()) < SHORTEST_REASON:
        message = f"Say why, in at least {SHORTEST_REASON} letters: the organisation reads it in its audit log."
        errors.append(FieldError("reason", "too_short", message))
    if len(reason.strip()) > 300:
        errors.append(FieldError("reason", "too_long", "Say why in at most 300 letters."))
    if not timedelta(minutes=1) <= lasts <= LONGEST:
        errors.append(FieldError("minutes", "out_of_range", "Choose from 1 to 60 minutes."))
    if errors:
        raise Invalid(errors)


def _may_be_acted_for(actor: Actor, person: User) -> None:
    if person.platform_role or person.kind != PrincipalKind.PERSON or person.pk == actor.id:
        raise Conflict("The platform's own people and service accounts are not acted for.", code="not_a_customer")
