"""Quotas: taken and given back in the transaction of the state that they follow."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet

from core import audit
from core.errors import FieldError, Invalid, NotFound, Refused, Stale
from core.types import Actor, Reason
from tenants.enums import Permission
from tenants.models import Project, Quota, QuotaHold
from tenants.permissions import authorize
from tenants.quota_rules import shortfalls
from tenants.selectors import quotas_visible_to
from tenants.types import Claim, Holder, QuotaLine

NOTHING = Claim(())


@transaction.atomic
def take(*, project: Project, claim: Claim, holder: Holder, now: datetime) -> None:
    """Hold a claim, all of it or nothing, under locks on the project's quotas in one order.

    Raises Refused with one reason per resource that falls short. A resource without a quota is not held and not
    limited. What the holder holds already counts as its own: taking the same claim twice takes it once.
    """
    quotas = _locked(project.pk, claim)
    held = {
        hold.quota_id: hold.amount
        for hold in QuotaHold.objects.filter(quota__in=quotas.values(), holder_kind=holder.kind, holder_id=holder.id)
    }
    asked = {
        resource: amount - held.get(quotas[resource].pk, 0) for resource, amount in claim.amounts if resource in quotas
    }
    lines = {resource: _line(quota) for resource, quota in quotas.items()}
    reasons = shortfalls(lines, asked, project=project.slug)
    if reasons:
        raise Refused(reasons, ref=project.ref, code="over_quota")
    for resource, more in asked.items():
        if more > 0:
            _hold(quotas[resource], holder, more, now)


@transaction.atomic
def give_back(*, project_id: UUID, holder: Holder, keep: Claim = NOTHING) -> None:
    """Free what the holder holds, except what it keeps. Freeing twice frees once."""
    kept = keep.as_dict()
    holds = list(
        QuotaHold.objects.filter(quota__project_id=project_id, holder_kind=holder.kind, holder_id=holder.id)
        .select_related("quota")
        .order_by("quota__resource")
    )
    quotas = {quota.pk: quota for quota in _lock_rows(Quota.objects.filter(pk__in=[hold.quota_id for hold in holds]))}
    for hold in QuotaHold.objects.filter(pk__in=[hold.pk for hold in holds]):
        quota = quotas[hold.quota_id]
        freed = hold.amount - kept.get(quota.resource, 0)
        if freed <= 0:
            continue
        if freed == hold.amount:
            hold.delete()
        else:
            QuotaHold.objects.filter(pk=hold.pk).update(amount=F("amount") - freed)
        Quota.objects.filter(pk=quota.pk).update(used=F("used") - freed)


@transaction.atomic
def set_limit(*, actor: Actor, quota_id: UUID, limit: int, now: datetime, expected_version: int | None = None) -> Quota:
    """Set a project quota's limit. A limit below what is used stops new work and touches nothing that runs."""
    quota = quotas_visible_to(actor).filter(pk=quota_id).first()
    if quota is None:
        raise NotFound("quota", quota_id)
    authorize(actor, Permission.MANAGE_QUOTA, quota.project)
    if limit < 0 or limit > 10**12:
        raise Invalid([FieldError("limit", "out_of_range", "A limit is a whole number from 0 to 1,000,000,000,000.")])
    locked = Quota.objects.select_for_update().get(pk=quota.pk)
    if expected_version is not None and locked.version != expected_version:
        raise Stale("The quota has changed since you read it. Read it again, then set the limit.")
    before = locked.limit
    locked.limit = limit
    locked.version += 1
    locked.save(update_fields=["limit", "version"])
    audit.record(actor, "quota.limit_set", locked.ref, now=now, before={"limit": before}, after={"limit": limit})
    locked.project = quota.project
    return locked


@transaction.atomic
def define(*, actor: Actor, project: Project, limits: dict[str, int], now: datetime) -> None:
    """The first limits of a new project, one per resource."""
    Quota.objects.bulk_create(
        Quota(organization_id=project.organization_id, project=project, resource=resource, limit=limit)
        for resource, limit in sorted(limits.items())
    )
    audit.record(actor, "quota.defined", project.ref, now=now, after=dict(limits))


def check(*, project: Project, claim: Claim, lines: dict[str, QuotaLine]) -> tuple[Reason, ...]:
    """What `take` would say, asked without a lock."""
    return shortfalls(lines, claim.as_dict(), project=project.slug)


def _locked(project_id: UUID, claim: Claim) -> dict[str, Quota]:
    names = [resource for resource, _ in claim.amounts]
    rows = _lock_rows(Quota.objects.filter(project_id=project_id, resource__in=names))
    return {row.resource: row for row in rows}


def _lock_rows(quotas: QuerySet[Quota]) -> list[Quota]:
    """Row locks in one order everywhere: by project, then resource."""
    return list(quotas.select_for_update().order_by("project_id", "resource"))


def _hold(quota: Quota, holder: Holder, more: int, now: datetime) -> None:
    changed = QuotaHold.objects.filter(quota=quota, holder_kind=holder.kind, holder_id=holder.id).update(
        amount=F("amount") + more
    )
    if not changed:
        QuotaHold.objects.create(
            organization_id=quota.organization_id,
            quota=quota,
            holder_kind=holder.kind,
            holder_id=holder.id,
            holder_label=holder.label,
            owner_id=holder.owner_id,
            amount=more,
            held_from=now,
        )
    Quota.objects.filter(pk=quota.pk).update(used=F("used") + more)


def _line(quota: Quota) -> QuotaLine:
    return QuotaLine(
        id=quota.pk, project_id=quota.project_id, resource=quota.resource, limit=quota.limit, used=quota.used
    )
