"""Setting quotas: the organisation's by the platform, the others by the organisation's own people."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TypeAlias
from uuid import UUID

from django.db import IntegrityError, transaction

from core import audit
from core.errors import Conflict, FieldError, Forbidden, Invalid, NotFound, Stale
from core.types import Actor, Json, ObjectRef
from tenants.enums import ChangeKind, Permission, PlatformPermission, QuotaLevel, Resource
from tenants.models import Membership, Organization, Project, Quota, Team, User
from tenants.permissions import authorize, platform_permissions_on
from tenants.policy_rules import Change
from tenants.quota_rules import limit_at
from tenants.selectors.quotas import quotas_visible_to
from tenants.services.changes import refuse_alone, watches
from tenants.services.quota_holds import follow_move, give_back, lock_quotas, put_to_use, recount, take

__all__ = [
    "KEEP",
    "QuotaPlace",
    "Terms",
    "authorize_quota",
    "define",
    "define_one",
    "follow_move",
    "give_back",
    "place_of",
    "put_to_use",
    "set_limit",
    "take",
]

QuotaPlace: TypeAlias = Organization | Team | Project | User
KEEP = -1
"""Leave a term of a quota as it is."""
_MOST = 10**12
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


@dataclass(frozen=True, slots=True)
class Terms:
    """What a quota allows: its own share, how much it may borrow above, how much of it it lends (None: all)."""

    limit: int
    borrow_limit: int = KEEP
    lend_limit: int | None = KEEP


@transaction.atomic
def define(*, actor: Actor, project: Project, limits: dict[str, int], now: datetime) -> None:
    """The first limits of a new project, one per resource."""
    lock_quotas(project.organization_id)
    Quota.objects.bulk_create(
        Quota(organization_id=project.organization_id, project=project, resource=resource, limit=limit)
        for resource, limit in sorted(limits.items())
    )
    audit.record(actor, "quota.defined", project.ref, now=now, after=dict(limits))


@transaction.atomic
def set_limit(
    *,
    actor: Actor,
    quota_id: UUID,
    limit: int,
    now: datetime,
    borrow_limit: int = KEEP,
    lend_limit: int | None = KEEP,
    expected_version: int | None = None,
) -> Quota:
    """Change a quota. A limit below what is used stops new work and touches nothing that runs; a raise for a time ends.

    Raises NotFound, Forbidden, Invalid and Stale, and Refused where a rule lets nobody change so much alone.
    """
    seen = quotas_visible_to(actor).filter(pk=quota_id).first()
    if seen is None:
        raise NotFound("quota", quota_id)
    authorize_quota(actor, place_of(seen), seen.ref)
    terms = Terms(limit, borrow_limit, lend_limit)
    _check(terms, seen.level)
    lock_quotas(seen.organization_id)
    quota = Quota.objects.select_for_update(of=("self",)).get(pk=quota_id)
    if expected_version is not None and quota.version != expected_version:
        raise Stale("The quota has changed since you read it. Read it again, then set the limit.")
    if quota.level is not QuotaLevel.ORGANIZATION:
        _judge_alone(quota, terms, now)
    before, after = _apply(quota, terms)
    audit.record(actor, "quota.limit_set", quota.ref, now=now, before=before, after=after)
    return quotas_visible_to(actor).get(pk=quota_id)


def _judge_alone(quota: Quota, terms: Terms, now: datetime) -> None:
    """What one person adds without anybody's word is counted together until somebody else agrees, not step by step."""
    stands = limit_at(quota.limit, quota.raised_until, quota.falls_to, now) + quota.borrow_limit
    wanted = terms.limit + (quota.borrow_limit if terms.borrow_limit == KEEP else terms.borrow_limit)
    agreed = stands if quota.agreed is None else min(quota.agreed, stands)
    refuse_alone(Change(ChangeKind.QUOTA, Decimal(max(wanted - agreed, 0)), quota.resource), quota.ref)
    quota.agreed = agreed if wanted > agreed and watches(ChangeKind.QUOTA, quota.resource) else None


@transaction.atomic
def define_one(*, actor: Actor, place: QuotaPlace, resource: str, terms: Terms, now: datetime) -> Quota:
    """A quota where there is none. What is held there already counts. Raises Conflict where there is one."""
    organization_id = _organization_of(actor, place)
    authorize_quota(actor, place, ObjectRef("quota", str(place.pk), resource))
    if not _is_resource(resource):
        raise Invalid([FieldError("resource", "unknown", f"A resource is one of {', '.join(Resource.values)}.")])
    quota = Quota(organization_id=organization_id, resource=resource, limit=0, **_columns(place))
    _check(terms, quota.level)
    lock_quotas(organization_id)
    _, after = _apply(quota, terms, save=False)
    try:
        with transaction.atomic():
            quota.save(force_insert=True)
    except IntegrityError as error:
        if "quota_once" not in str(error):
            raise
        raise Conflict(f"There is a quota on {resource} there already. Change it.", code="quota_exists") from error
    recount(organization_id)
    audit.record(actor, "quota.defined", quota.ref, now=now, after={"level": str(quota.level), **after})
    quota.refresh_from_db()
    return quota


def authorize_quota(actor: Actor, place: QuotaPlace, ref: ObjectRef) -> None:
    """Whoever sets a place's quotas. Nobody inside an organisation sets the organisation's own."""
    if isinstance(place, Organization):
        needed = PlatformPermission.MANAGE_TENANT_QUOTA
        if not actor.is_system and needed not in platform_permissions_on(actor):
            raise Forbidden(needed, ref, ask="the platform's administrator")
    elif not actor.is_system:
        authorize(actor, Permission.MANAGE_QUOTA, _home(actor) if isinstance(place, User) else place)


def place_of(quota: Quota) -> QuotaPlace:
    return quota.project or quota.team or quota.user or quota.organization


def _apply(quota: Quota, terms: Terms, *, save: bool = True) -> tuple[dict[str, Json], dict[str, Json]]:
    """What has changed, before and after; the limit is always told."""
    new: dict[str, int | None] = {"limit": terms.limit}
    if terms.borrow_limit != KEEP:
        new["borrow_limit"] = terms.borrow_limit
    if terms.lend_limit != KEEP:
        new["lend_limit"] = terms.lend_limit
    before: dict[str, Json] = {"limit": quota.limit}
    after: dict[str, Json] = {"limit": terms.limit}
    for name, value in new.items():
        if getattr(quota, name) != value:
            before[name], after[name] = getattr(quota, name), value
        setattr(quota, name, value)
    if quota.raised_until is not None:
        before["raised_until"], after["raised_until"] = quota.raised_until.isoformat(), None
        quota.raised_until = quota.falls_to = None
    if save:
        quota.version += 1
        quota.save(update_fields=[*new, "raised_until", "falls_to", "agreed", "version"])
    return before, after


def _check(terms: Terms, level: QuotaLevel) -> None:
    errors = [
        FieldError(name, "out_of_range", f"A {what} is a whole number from 0 to 1,000,000,000,000.")
        for name, value, what in (
            ("limit", terms.limit, "limit"),
            ("borrow_limit", terms.borrow_limit if terms.borrow_limit != KEEP else 0, "share to borrow"),
            ("lend_limit", terms.lend_limit if terms.lend_limit not in (KEEP, None) else 0, "share to lend"),
        )
        if not 0 <= (value or 0) <= _MOST
    ]
    shares = terms.borrow_limit not in (KEEP, 0) or terms.lend_limit not in (KEEP, None)
    if shares and level not in (QuotaLevel.TEAM, QuotaLevel.PROJECT):
        errors.append(FieldError("borrow_limit", "no_siblings", "Teams and projects borrow and lend, nobody else."))
    if errors:
        raise Invalid(errors)


def _is_resource(resource: str) -> bool:
    base, slash, model = resource.partition("/")
    if slash:
        return base == Resource.ACCELERATORS and _MODEL.fullmatch(model) is not None
    return base in Resource.values


def _organization_of(actor: Actor, place: QuotaPlace) -> UUID:
    if isinstance(place, Organization):
        return place.pk
    if not isinstance(place, User):
        return place.organization_id
    home = _home(actor)
    if not Membership.objects.filter(user=place).exists():
        raise NotFound("person", place.pk)
    return home.pk


def _home(actor: Actor) -> Organization:
    found = Organization.objects.filter(pk=actor.tenant_id).first()
    if found is None:
        raise NotFound("organization", actor.organization_id)
    return found


def _columns(place: QuotaPlace) -> dict[str, QuotaPlace]:
    if isinstance(place, Project):
        return {"project": place}
    if isinstance(place, Team):
        return {"team": place}
    return {"user": place} if isinstance(place, User) else {}
