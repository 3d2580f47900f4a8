"""Places with quotas for tests, and claims in them."""

from __future__ import annotations

from django.utils import timezone

from core import audit
from core.errors import Refused
from core.ids import uuid7
from tenants.models import Project, Quota, QuotaHold, Team
from tenants.services import quotas
from tenants.types import Claim, Holder
from tests.house import SYSTEM, an_act

GPU = "accelerators/H100"


def quota(tenant, place, limit, resource=GPU, **more) -> Quota:
    """A quota of a place, set by the platform; one that is there is changed."""
    with an_act(), tenant.scope():
        where = quotas._columns(place)
        here = {name: where.get(name) for name in ("team", "project", "user")}
        known = Quota.objects.filter(resource=resource, **here).first()
        terms = {"borrow_limit": 0, "lend_limit": None} | more
        if known is not None:
            return quotas.set_limit(actor=system(tenant), quota_id=known.pk, limit=limit, now=timezone.now(), **terms)
        return quotas.define_one(
            actor=system(tenant),
            place=place,
            resource=resource,
            terms=quotas.Terms(limit, **terms),
            now=timezone.now(),
        )


def system(tenant):
    return SYSTEM.__class__(kind=SYSTEM.kind, id=None, organization_id=tenant.organization.pk, label="test")


def team(tenant, slug, *projects) -> Team:
    """A team of these projects."""
    with an_act(), tenant.scope():
        audit.record(SYSTEM, "team.created", tenant.organization.ref, now=timezone.now())
        made = Team.objects.create(
            organization=tenant.organization, slug=slug, name=slug.title(), created_at=timezone.now()
        )
        Project.objects.filter(slug__in=projects).update(team=made)
        for project in projects:
            tenant.projects[project].team = made
    return made


def holder(owner_id=None, **words) -> Holder:
    return Holder(kind="workload", id=uuid7(), label="notes", owner_id=owner_id, **words)


def take(tenant, project, amount, *, by=None, resource=GPU, owner_id=None):
    """The holder where it was admitted, else the reasons."""
    mine = by or holder(owner_id)
    try:
        with tenant.scope():
            quotas.take(
                project=tenant.projects[project],
                claim=Claim(((resource, amount),)),
                holder=mine,
                now=timezone.now(),
            )
    except Refused as refused:
        return refused.reasons
    return mine


def give_back(tenant, project, mine) -> None:
    with tenant.scope():
        quotas.give_back(project_id=tenant.projects[project].pk, holder=mine)


def check_that_used_is_what_is_held(tenant) -> None:
    with tenant.scope():
        holds = list(QuotaHold.objects.select_related("project"))
        for row in Quota.objects.all():
            below = [
                hold.amount
                for hold in holds
                if hold.resource == row.resource
                and row.project_id in (None, hold.project_id)
                and row.team_id in (None, hold.project.team_id)
                and row.user_id in (None, hold.owner_id)
            ]
            assert row.used == sum(below), (row.level, row.resource)
