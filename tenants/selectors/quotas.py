"""Questions about quotas: what a claim would meet, what stands where, and who holds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from core import scope
from core.errors import NotFound
from core.types import Actor
from tenants.enums import Permission, PlatformPermission, QuotaLevel
from tenants.models import Organization, Project, Quota, QuotaHold, User
from tenants.permissions import Place, platform_permissions_on, projects_filter
from tenants.quota_rules import Book, with_pools
from tenants.selectors.places import people_of, place_for
from tenants.types import Claim, Ladder, QuotaBook, QuotaLine


@dataclass(frozen=True, slots=True)
class Rung:
    """A quota that a claim meets, and what the claim's holder holds of it already."""

    line: QuotaLine
    held: int


@dataclass(frozen=True, slots=True)
class HoldShown:
    """Who holds how much: a workload or a volume in its project, a project in the team or organisation above it."""

    kind: str
    id: UUID
    label: str
    owner_id: UUID | None
    amount: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Held:
    """What of a quota is taken for things that do not run yet, and by whom all of it is held, largest first."""

    reserved: int = 0
    holds: tuple[HoldShown, ...] = ()


def quotas_visible_to(actor: Actor) -> QuerySet[Quota]:
    """Those of the projects that the actor sees, of what stands above these, and its own; projects first.

    The platform's people, who set them, see those of the organisation itself.
    """
    rows = Quota.objects.select_related("project", "team", "user", "organization").order_by(
        "project__slug", "team__slug", "user__email", "resource", "id"
    )
    seen = projects_filter(actor, Permission.VIEW_QUOTA)
    if seen == Q():
        return rows
    places = list(Project.objects.filter(seen).values_list("pk", "team_id"))
    if not places:
        sets_them = PlatformPermission.MANAGE_TENANT_QUOTA in platform_permissions_on(actor)
        return rows.filter(on_level(QuotaLevel.ORGANIZATION)) if sets_them else rows.none()
    teams = {team_id for _, team_id in places if team_id is not None}
    return rows.filter(
        Q(project_id__in=[project_id for project_id, _ in places])
        | Q(team_id__in=teams)
        | Q(user_id=actor.person_id)
        | Q(project=None, team=None, user=None)
    )


def organization_quota(resource: str) -> Quota | None:
    """The quota on the scope's organisation itself."""
    return Quota.objects.filter(on_level(QuotaLevel.ORGANIZATION), resource=resource).first()


def organization_quotas() -> list[Quota]:
    """All quotas on the scope's organisation itself, by resource."""
    return list(Quota.objects.filter(on_level(QuotaLevel.ORGANIZATION)).order_by("resource"))


def on_level(level: str) -> Q:
    """The condition that a quota stands on an organisation, a team, a project or a person."""
    return Q(
        team__isnull=level != QuotaLevel.TEAM,
        project__isnull=level != QuotaLevel.PROJECT,
        user__isnull=level != QuotaLevel.USER,
    )


def counting_in(project: Project | None) -> Q:
    """The condition on a visible quota that it counts in a project, or is a person's."""
    here = Q(pk__in=[]) if project is None else Q(project=project)
    if project is not None and project.team_id is not None:
        here |= Q(team_id=project.team_id)
    return here | Q(user__isnull=False) | Q(project=None, team=None, user=None)


def quota_place_for(actor: Actor, kind: str, asked: str) -> Place | User:
    """What a quota may stand on, if the actor may see it: a person is one of the organisation's. Raises NotFound."""
    if kind != QuotaLevel.USER:
        return place_for(actor, kind, asked)
    found = User.objects.filter(pk=asked, memberships__in=people_of(actor)).distinct().first()
    if found is None:
        raise NotFound("person", asked)
    return found


def quota_lines(project_id: UUID) -> dict[str, QuotaLine]:
    """Limit and used of a project's own quotas, by resource name."""
    rows = Quota.objects.filter(project_id=project_id).select_related("project").order_by("resource")
    return {
        row.resource: QuotaLine(
            id=row.pk,
            level=QuotaLevel.PROJECT,
            place=row.project.slug if row.project else "",
            resource=row.resource,
            limit=row.limit,
            used=row.used,
            borrow_limit=row.borrow_limit,
            lend_limit=row.lend_limit,
        )
        for row in rows
    }


def quota_book(project: Project, owner_id: UUID | None, *, now: datetime) -> QuotaBook:
    """What a claim in this project for this person would meet now, asked without a lock."""
    ladders, _ = ladders_of(rungs(project.organization_id, project.pk, owner_id, now=now), now=now)
    return Book(ladders)


def rungs(
    organization_id: UUID,
    project_id: UUID,
    owner_id: UUID | None,
    *,
    now: datetime,
    resources: Sequence[str] | None = None,
    holder_id: UUID | None = None,
    lock: bool = False,
) -> list[Rung]:
    """The quotas above a project and a person, locked in the one order where asked: level, place, resource."""
    scope.require()
    with connection.cursor() as cursor:
        cursor.execute(
            _RUNGS + (_LOCKED if lock else ""),
            {
                "now": now,
                "organization": organization_id,
                "project": project_id,
                "owner": owner_id,
                "holder": holder_id,
                "every": resources is None,
                "resources": list(resources or ()),
            },
        )
        return [Rung(_line(row[:8]), row[8]) for row in cursor.fetchall()]


def ladders_of(found: Sequence[Rung], *, now: datetime) -> tuple[dict[str, Ladder], dict[str, int]]:
    """By resource: the ladder with what each line shares, and what the holder holds already."""
    by_resource: dict[str, list[QuotaLine]] = {}
    held: dict[str, int] = {}
    for rung in found:
        by_resource.setdefault(rung.line.resource, []).append(rung.line)
        held[rung.line.resource] = max(held.get(rung.line.resource, 0), rung.held)
    shared = _shares(sorted(by_resource), now)
    return (
        {
            resource: with_pools(tuple(lines), _siblings(lines, shared.get(resource, ())))
            for resource, lines in by_resource.items()
        },
        held,
    )


def held_of(rows: Sequence[Quota]) -> dict[UUID, Held]:
    """What is reserved of each quota, and who holds it. Two queries, however many."""
    resources = {row.resource for row in rows}
    sums = _sums(sorted(resources)) if rows else []
    mine = Q(project_id__in={row.project_id for row in rows if row.project_id}) | Q(
        owner_id__in={row.user_id for row in rows if row.user_id}
    )
    holds = list(QuotaHold.objects.filter(mine, resource__in=resources).order_by("-amount", "holder_label"))
    return {row.pk: _held(row, sums, holds) for row in rows}


def organization_ids() -> list[UUID]:
    """Every organisation, for sweeps of the platform."""
    with scope.of_platform():
        return list(Organization.objects.order_by("pk").values_list("pk", flat=True))


def organization_limits() -> dict[UUID, dict[str, int]]:
    """What every organisation as a whole may hold at once, by resource; nothing of what has no limit."""
    with scope.of_platform():
        found: dict[UUID, dict[str, int]] = {key: {} for key in Organization.objects.values_list("pk", flat=True)}
        rows = Quota.objects.filter(team=None, project=None, user=None)
        for organization_id, resource, limit in rows.values_list("organization_id", "resource", "limit"):
            found[organization_id][resource] = limit
        return found


def holds_by_holder(kind: str) -> dict[UUID, Claim]:
    """What each holder of the scope's organisation holds."""
    found: dict[UUID, dict[str, int]] = {}
    for holder_id, resource, amount in QuotaHold.objects.filter(holder_kind=kind).values_list(
        "holder_id", "resource", "amount"
    ):
        found.setdefault(holder_id, {})[resource] = amount
    return {holder_id: Claim(tuple(sorted(held.items()))) for holder_id, held in found.items()}


def drifting_quotas(organization_id: UUID) -> dict[UUID, tuple[int, int]]:
    """Quotas of the scope's organisation whose `used` is not the sum of their holds: (held, used)."""
    with connection.cursor() as cursor:
        cursor.execute(_DRIFT, [organization_id])
        return {quota_id: (int(held), used) for quota_id, held, used in cursor.fetchall()}


@dataclass(frozen=True, slots=True)
class _Share:
    line: QuotaLine
    team_id: UUID | None


@dataclass(frozen=True, slots=True)
class _Sum:
    """What one project's people hold of a resource."""

    resource: str
    project_id: UUID
    project: str
    team_id: UUID | None
    owner_id: UUID | None
    amount: int
    reserved: int
    since: datetime


def _shares(resources: list[str], now: datetime) -> dict[str, list[_Share]]:
    """Quotas of teams and projects on those resources of which somebody may borrow or keeps something; mostly none."""
    found: dict[str, list[_Share]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_SHARES, {"now": now, "resources": resources})
        for row in cursor.fetchall():
            found.setdefault(row[1], []).append(_Share(_line(row[:8]), row[8]))
    return found


def _siblings(lines: Sequence[QuotaLine], shares: Sequence[_Share]) -> Iterator[tuple[QuotaLevel, list[QuotaLine]]]:
    """Which of the shares stand under the same parent: a team's quota for its projects, else the organisation."""
    if not shares:
        return
    limited = {share.team_id for share in shares if share.line.level is QuotaLevel.TEAM}
    above = {share.line.id: _above(share, limited) for share in shares}
    for line in lines:
        if line.id in above:
            yield (
                line.level,
                [each.line for each in shares if each.line.id != line.id and above[each.line.id] == above[line.id]],
            )


def _above(share: _Share, limited: set[UUID | None]) -> UUID | None:
    is_under_team = share.line.level is QuotaLevel.PROJECT and share.team_id in limited
    return share.team_id if is_under_team else None


def _line(row: tuple[UUID, str, str, str, int, int, int, int | None]) -> QuotaLine:
    id_, resource, level, place, limit, used, borrow_limit, lend_limit = row
    return QuotaLine(id_, QuotaLevel(level), place, resource, limit, used, borrow_limit, lend_limit)


def _sums(resources: list[str]) -> list[_Sum]:
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, [resources])
        return [
            _Sum(resource, project_id, project, team_id, owner_id, int(amount), int(reserved), since)
            for resource, project_id, project, team_id, owner_id, amount, reserved, since in cursor.fetchall()
        ]


def _held(row: Quota, sums: Sequence[_Sum], holds: Sequence[QuotaHold]) -> Held:
    under = [each for each in sums if each.resource == row.resource and _is_under(row, each)]
    reserved = min(sum(each.reserved for each in under), row.used)
    if row.level in (QuotaLevel.ORGANIZATION, QuotaLevel.TEAM):
        return Held(reserved, _by_project(under))
    mine = [
        hold
        for hold in holds
        if hold.resource == row.resource
        and (hold.project_id == row.project_id if row.project_id else hold.owner_id == row.user_id)
    ]
    return Held(
        reserved,
        tuple(
            HoldShown(hold.holder_kind, hold.holder_id, hold.holder_label, hold.owner_id, hold.amount, hold.held_from)
            for hold in mine
        ),
    )


def _is_under(row: Quota, each: _Sum) -> bool:
    match row.level:
        case QuotaLevel.PROJECT:
            return each.project_id == row.project_id
        case QuotaLevel.TEAM:
            return each.team_id == row.team_id
        case QuotaLevel.USER:
            return each.owner_id == row.user_id
    return True


def _by_project(sums: Sequence[_Sum]) -> tuple[HoldShown, ...]:
    found: dict[UUID, HoldShown] = {}
    for each in sums:
        known = found.get(each.project_id)
        found[each.project_id] = HoldShown(
            "project",
            each.project_id,
            each.project,
            None,
            each.amount + (known.amount if known else 0),
            min(each.since, known.since) if known else each.since,
        )
    return tuple(sorted(found.values(), key=lambda hold: (-hold.amount, hold.label)))


_LEVEL = (
    "CASE WHEN q.user_id IS NOT NULL THEN 'user' WHEN q.project_id IS NOT NULL THEN 'project'"
    " WHEN q.team_id IS NOT NULL THEN 'team' ELSE 'organization' END"
)
_LIMIT = 'CASE WHEN q.raised_until <= %(now)s THEN q.falls_to ELSE q."limit" END'
_LINE = (
    f"q.id, q.resource, {_LEVEL}, COALESCE(u.email, p.slug, t.slug, o.slug), {_LIMIT},"
    " q.used, q.borrow_limit, q.lend_limit"
)
_PLACES = (
    " FROM tenants_quota q JOIN tenants_organization o ON o.id = q.organization_id"
    " LEFT JOIN tenants_team t ON t.id = q.team_id"
    " LEFT JOIN tenants_project p ON p.id = q.project_id"
    " LEFT JOIN tenants_user u ON u.id = q.user_id"
)
ABOVE = (
    " (q.team_id IS NULL AND q.project_id IS NULL AND q.user_id IS NULL OR q.project_id = %(project)s"
    " OR q.user_id = %(owner)s OR q.team_id = (SELECT team_id FROM tenants_project WHERE id = %(project)s))"
)
"""Which quotas (q) count what stands in a project for a person."""
_RUNGS = (
    f"SELECT {_LINE}, COALESCE(h.amount, 0){_PLACES}"
    " LEFT JOIN tenants_quotahold h ON h.organization_id = q.organization_id AND h.holder_id = %(holder)s"
    " AND h.resource = q.resource"
    f" WHERE q.organization_id = %(organization)s AND (%(every)s OR q.resource = ANY(%(resources)s)) AND {ABOVE}"
    " ORDER BY q.user_id NULLS FIRST, q.project_id NULLS FIRST, q.team_id NULLS FIRST, q.resource"
)
_LOCKED = " FOR UPDATE OF q"
_SHARES = (
    f"SELECT {_LINE}, COALESCE(q.team_id, p.team_id){_PLACES}"  # noqa: S608 - parts of this module alone
    " WHERE q.user_id IS NULL AND (q.team_id IS NOT NULL OR q.project_id IS NOT NULL)"
    " AND (q.organization_id, q.resource) IN (SELECT s.organization_id, s.resource FROM tenants_quota s"
    " WHERE s.resource = ANY(%(resources)s) AND s.organization_id = steelyard_organization()"
    " AND (s.borrow_limit > 0 OR s.lend_limit IS NOT NULL))"
)
_SUMS = (
    "SELECT h.resource, h.project_id, p.slug, p.team_id, h.owner_id, sum(h.amount),"
    " COALESCE(sum(h.amount) FILTER (WHERE h.in_use_from IS NULL), 0), min(h.held_from)"
    " FROM tenants_quotahold h JOIN tenants_project p ON p.id = h.project_id"
    " WHERE h.resource = ANY(%s) GROUP BY 1, 2, 3, 4, 5"
)
_DRIFT = """
    SELECT * FROM (
        SELECT q.id, (
            SELECT COALESCE(sum(h.amount), 0)
            FROM tenants_quotahold h JOIN tenants_project p ON p.id = h.project_id
            WHERE h.organization_id = q.organization_id AND h.resource = q.resource
                AND (q.project_id IS NULL OR h.project_id = q.project_id)
                AND (q.team_id IS NULL OR p.team_id = q.team_id)
                AND (q.user_id IS NULL OR h.owner_id = q.user_id)
        ) AS held, q.used
        FROM tenants_quota q WHERE q.organization_id = %s
    ) counted WHERE held <> used
"""
