"""Asking for more quota: a wish with its reason, decided by others than its asker."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db import transaction

from core.errors import FieldError, Forbidden, Invalid, NotFound
from core.timezones import NOT_AN_INSTANT, is_in_reach
from core.types import Actor, Json, ObjectRef
from tenants.enums import ApprovalKind, ChangeKind, Decider, Permission, QuotaLevel
from tenants.models import Approval, Quota
from tenants.permissions import authorize
from tenants.policy_rules import Change
from tenants.quota_rules import limit_at
from tenants.selectors.approvals import approval_for
from tenants.selectors.quotas import quotas_visible_to
from tenants.services import approvals
from tenants.services.approvals import Request
from tenants.services.changes import deciders_of, needs_of

SHORTEST = 10
_MOST = 10**12


@transaction.atomic
def ask(
    *, actor: Actor, quota_id: UUID, limit: int, justification: str, until: datetime | None, now: datetime
) -> Approval:
    """Ask that a limit be raised, for good or until an instant.

    The organisation's owners and admins decide; about the organisation's own quota the platform does. Raises NotFound,
    Forbidden, Invalid, and Conflict while the same quota is asked about.
    """
    quota = quotas_visible_to(actor).filter(pk=quota_id).first()
    if quota is None:
        raise NotFound("quota", quota_id)
    _may_ask(actor, quota)
    stands = limit_at(quota.limit, quota.raised_until, quota.falls_to, now)
    _check(limit, stands, justification, until, now)
    is_top = quota.level is QuotaLevel.ORGANIZATION
    needs = needs_of(Change(ChangeKind.QUOTA, Decimal(limit - stands), quota.resource))
    request = Request(
        kind=ApprovalKind.QUOTA,
        subject=ObjectRef("quota", str(quota.pk), f"{_place(quota)}: {quota.resource}"),
        place=quota.organization,
        justification=justification,
        payload=_payload(quota, stands, limit, until),
        rule=", ".join(need.rule.slug for need in needs) or "quota",
        needed=deciders_of(needs),
        decider=Decider.PLATFORM if is_top else Decider.ORGANIZATION,
    )
    return approvals.ask(actor=actor, request=request, now=now)


def approve(*, actor: Actor, request_id: UUID, now: datetime, comment: str = "") -> Approval:
    """Agree, and the limit is raised in the same transaction. Nobody agrees to their own request."""
    _known(actor, request_id)
    return approvals.approve(actor=actor, approval_id=request_id, now=now, comment=comment)


def refuse(*, actor: Actor, request_id: UUID, now: datetime, comment: str = "") -> Approval:
    _known(actor, request_id)
    return approvals.refuse(actor=actor, approval_id=request_id, now=now, comment=comment)


def _known(actor: Actor, request_id: UUID) -> None:
    if approval_for(actor, request_id).kind != ApprovalKind.QUOTA:
        raise NotFound("quota request", request_id)


def _may_ask(actor: Actor, quota: Quota) -> None:
    """Whoever works there; about a person's quota that person, or who may ask for the organisation."""
    if quota.user_id is not None and quota.user_id == actor.id and actor.scopes is None:
        return
    if actor.id is None:
        raise Forbidden(Permission.REQUEST_QUOTA, quota.ref, ask="a person: somebody asks")
    authorize(actor, Permission.REQUEST_QUOTA, quota.project or quota.team or quota.organization)


def _check(limit: int, stands: int, justification: str, until: datetime | None, now: datetime) -> None:
    errors = []
    if not stands < limit <= _MOST:
        errors.append(FieldError("limit", "not_a_raise", f"Ask for more than the limit of {stands:,} that stands."))
    if len(justification.strip()) < SHORTEST:
        message = f"Say in at least {SHORTEST} characters what it is needed for: somebody has to decide on it."
        errors.append(FieldError("justification", "too_short" if justification.strip() else "required", message))
    if until is not None and until <= now:
        errors.append(FieldError("until", "in_the_past", "Until when it is needed lies in the future, or is left out."))
    elif until is not None and not is_in_reach(until):
        errors.append(FieldError("until", "out_of_reach", NOT_AN_INSTANT))
    if errors:
        raise Invalid(errors)


def _payload(quota: Quota, stands: int, limit: int, until: datetime | None) -> dict[str, Json]:
    return {
        "level": str(quota.level),
        "place": _place(quota),
        "resource": quota.resource,
        "limit_before": stands,
        "limit": limit,
        "until": until.isoformat() if until else None,
    }


def _place(quota: Quota) -> str:
    if quota.user is not None:
        return quota.user.email
    return (quota.project or quota.team or quota.organization).slug
