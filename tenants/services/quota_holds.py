"""Holds of quota: taken and given back in the transaction of the state that they follow.

Who changes a quota or a hold takes the organisation's lock first and keeps it to the end of the transaction. Rows are
locked after it in one order: organisation, team, project, person, and within each by resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from core import scope
from core.errors import Refused
from core.ids import uuid7
from core.locks import lock
from tenants.models import Project, QuotaHold
from tenants.quota_rules import Book
from tenants.selectors.quotas import ABOVE, ladders_of, rungs
from tenants.types import Claim, Holder

NOTHING = Claim(())


@transaction.atomic
def take(*, project: Project, claim: Claim, holder: Holder, now: datetime) -> None:
    """Hold a claim, all of it or nothing, in the organisation, the project's team, the project and for its owner.

    Raises Refused with every reason, level by level. A resource without a quota is held, and not limited. What the
    holder holds already counts as its own: taking the same claim twice takes it once. What is taken is reserved until
    `put_to_use`.
    """
    lock_quotas(project.organization_id)
    found = rungs(
        project.organization_id,
        project.pk,
        holder.owner_id,
        now=now,
        resources=[resource for resource, _ in claim.amounts],
        holder_id=holder.id,
        lock=True,
    )
    ladders, held = ladders_of(found, now=now)
    more = {resource: max(amount - held.get(resource, 0), 0) for resource, amount in claim.amounts}
    reasons = Book(ladders).shortfalls(more)
    if reasons:
        raise Refused(reasons, ref=project.ref, code="over_quota")
    hold(project=project, claim=claim, holder=holder, now=now)
    move(project_id=project.pk, owner_id=holder.owner_id, by={name: more[name] for name in ladders if more[name]})


@transaction.atomic
def give_back(*, project_id: UUID, holder: Holder, keep: Claim = NOTHING) -> None:
    """Free what the holder holds, except what it keeps. Freeing twice frees once. In the organisation's scope."""
    organization_id = scope.require().organization_id
    assert organization_id is not None, "quotas are given back in the scope of their organisation"
    lock_quotas(organization_id)
    freed: dict[UUID | None, dict[str, int]] = {}
    with connection.cursor() as cursor:
        names, amounts = [name for name, _ in keep.amounts], [amount for _, amount in keep.amounts]
        cursor.execute(_FREE, [organization_id, holder.id, holder.kind, names, amounts])
        rows = cursor.fetchall()
        if keep.amounts:
            cursor.execute(_FREE_IN_PART, [names, amounts, organization_id, holder.id, holder.kind])
            rows += cursor.fetchall()
    for resource, amount, owner_id in rows:
        freed.setdefault(owner_id, {})[resource] = -amount
    for owner_id, by in freed.items():
        move(project_id=project_id, owner_id=owner_id, by=by)


def put_to_use(*, holder: Holder, now: datetime) -> None:
    """What the holder has reserved is in use from now on."""
    QuotaHold.objects.filter(holder_id=holder.id, holder_kind=holder.kind, in_use_from=None).update(in_use_from=now)


@transaction.atomic
def follow_move(organization_id: UUID) -> None:
    """Count anew, in the transaction that moves a project to another team: what it holds goes with it."""
    lock_quotas(organization_id)
    recount(organization_id)


def lock_quotas(organization_id: UUID) -> None:
    """The organisation's lock on all its quotas, until the transaction ends."""
    lock("quotas", str(organization_id))


def hold(*, project: Project, claim: Claim, holder: Holder, now: datetime) -> None:
    """Write the holds alone; one that is there grows to the claim. The quotas are locked by the caller."""
    if not claim.amounts:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _HOLD,
            {
                "ids": [uuid7() for _ in claim.amounts],
                "resources": [resource for resource, _ in claim.amounts],
                "amounts": [amount for _, amount in claim.amounts],
                "organization": project.organization_id,
                "project": project.pk,
                "kind": holder.kind,
                "holder": holder.id,
                "label": holder.label,
                "owner": holder.owner_id,
                "now": now,
            },
        )


def move(*, project_id: UUID, owner_id: UUID | None, by: Mapping[str, int]) -> None:
    """Change what is used in every quota above a project and a person. The quotas are locked by the caller."""
    if not by:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _MOVE,
            {"resources": list(by), "amounts": list(by.values()), "project": project_id, "owner": owner_id},
        )


def recount(organization_id: UUID) -> None:
    """Set what is used to the sum of the holds. The quotas are locked by the caller."""
    with connection.cursor() as cursor:
        cursor.execute(_RECOUNT, [organization_id])


_HOLD = """
    INSERT INTO tenants_quotahold (id, organization_id, project_id, resource, holder_kind, holder_id, holder_label,
        owner_id, amount, held_from)
    SELECT c.id, %(organization)s, %(project)s, c.resource, %(kind)s, %(holder)s, %(label)s, %(owner)s, c.amount,
        %(now)s
    FROM unnest(%(ids)s::uuid[], %(resources)s::text[], %(amounts)s::bigint[]) AS c (id, resource, amount)
    ON CONFLICT (organization_id, holder_id, holder_kind, resource)
    DO UPDATE SET amount = GREATEST(tenants_quotahold.amount, EXCLUDED.amount)
"""
_MOVE = f"""
    UPDATE tenants_quota q SET used = q.used + c.amount
    FROM unnest(%(resources)s::text[], %(amounts)s::bigint[]) AS c (resource, amount)
    WHERE q.resource = c.resource AND q.organization_id = steelyard_organization() AND {ABOVE}
"""  # noqa: S608 - parts of these modules alone
_FREE = """
    DELETE FROM tenants_quotahold h
    WHERE organization_id = %s AND holder_id = %s AND holder_kind = %s
        AND NOT EXISTS (SELECT 1 FROM unnest(%s::text[], %s::bigint[]) AS k (resource, amount)
            WHERE k.resource = h.resource AND k.amount > 0)
    RETURNING resource, amount, owner_id
"""
_FREE_IN_PART = """
    WITH more AS (
        SELECT h.id, h.amount - k.amount AS freed
        FROM tenants_quotahold h
        JOIN unnest(%s::text[], %s::bigint[]) AS k (resource, amount) ON k.resource = h.resource AND k.amount > 0
        WHERE h.organization_id = %s AND h.holder_id = %s AND h.holder_kind = %s AND h.amount > k.amount
    )
    UPDATE tenants_quotahold h SET amount = h.amount - more.freed FROM more WHERE h.id = more.id
    RETURNING h.resource, more.freed, h.owner_id
"""
_RECOUNT = """
    UPDATE tenants_quota q SET used = held.amount FROM (
        SELECT each.id, COALESCE(sum(h.amount), 0) AS amount FROM tenants_quota each
        LEFT JOIN (tenants_quotahold h JOIN tenants_project p ON p.id = h.project_id)
            ON h.organization_id = each.organization_id AND h.resource = each.resource
            AND (each.project_id IS NULL OR h.project_id = each.project_id)
            AND (each.team_id IS NULL OR p.team_id = each.team_id)
            AND (each.user_id IS NULL OR h.owner_id = each.user_id)
        WHERE each.organization_id = %s GROUP BY each.id
    ) held WHERE q.id = held.id AND q.used <> held.amount
"""
