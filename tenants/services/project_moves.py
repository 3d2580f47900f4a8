"""Moves of a project between teams that let it hold more: who leaves a small team's quota behind has raised its own.

This module may not import `approvals`, which reads what follows an approval from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import Q

from core.errors import Conflict
from core.types import Actor, Json, Reason
from tenants.enums import ApprovalState, ChangeKind, QuotaLevel
from tenants.models import Approval, Project, Quota, Team
from tenants.policy_rules import Change, Need
from tenants.quota_rules import limit_at, most_of, reaches
from tenants.selectors.quotas import on_level
from tenants.services.changes import needs_of, watches
from tenants.services.quota_holds import lock_quotas, recount

NO_TEAM = "no team"
_UNCOUNTED = Decimal("Infinity")
_CHANGED = "What it was approved for has changed since. The move has to be asked anew."


@dataclass(frozen=True, slots=True)
class Raise:
    """How much more of a resource a project may hold after a move; None: any number. `own`: its own quota, if any."""

    resource: str
    before: int
    after: int | None
    own: Quota | None

    @property
    def amount(self) -> Decimal:
        """What it adds, with what one person alone has added before. Without a quota of its own there is nowhere to
        count that, so it counts as beyond any."""
        if self.after is None or self.own is None:
            return _UNCOUNTED
        return Decimal(self.after - self.before + _added_alone(self.own))


def raises_of(project: Project, team: Team | None, now: datetime) -> tuple[Raise, ...]:
    """What the move lets it hold more of, by resource. Locks the organisation's quotas."""
    lock_quotas(project.organization_id)
    here = on_level(QuotaLevel.ORGANIZATION) | Q(project=project)
    teams = [each for each in (project.team_id, team.pk if team else None) if each]
    rows = list(Quota.objects.select_for_update(of=("self",)).filter(here | Q(team__in=teams)))
    before = reaches(_bounds(rows, project.team_id, now))
    after = reaches(_bounds(rows, team.pk if team else None, now))
    own = {row.resource: row for row in rows if row.project_id == project.pk}
    found = []
    for resource in sorted({*before, *after}):
        held, most = most_of(resource, before), most_of(resource, after)
        if held is not None and (most is None or most > held):
            found.append(Raise(resource, held, most, own.get(resource)))
    return tuple(found)


def needs_of_move(project: Project, raises: Sequence[Raise]) -> tuple[Need, ...]:
    """The rules that let nobody make it alone, in the words of the move."""
    return tuple(
        Need(need.rule, _reason(project, each, need), need.four_eyes)
        for each in raises
        for need in needs_of(Change(ChangeKind.QUOTA, each.amount, each.resource))
    )


def carry_out(project: Project, team: Team | None) -> None:
    """Move it, with what it holds, for an act that records itself. The quotas are locked by `raises_of`."""
    project.team = team
    project.save(update_fields=["team"])
    recount(project.organization_id)


def count_alone(raises: Sequence[Raise]) -> None:
    """Remember what one person added by a move, so that no row of small ones makes a large one."""
    for each in raises:
        if each.own is not None and each.after is not None and watches(ChangeKind.QUOTA, each.resource):
            agreed = _stands(each.own) - _added_alone(each.own) - (each.after - each.before)
            each.own.agreed = max(agreed, 0)
            each.own.save(update_fields=["agreed"])


def payload_of(project: Project, team: Team | None, raises: Sequence[Raise], needs: Sequence[Need]) -> dict[str, Json]:
    """What a decider sees, and what the move is checked against when it is approved."""
    bounds: list[Json] = [{"resource": each.resource, "most": each.after} for each in raises]
    reasons: list[Json] = [dict(need.reason.as_json()) for need in needs]
    shown: dict[str, Json] = {f"may_hold_{each.resource}": _before_and_after(each) for each in raises}
    return {
        "project": project.slug,
        "from": project.team.slug if project.team else NO_TEAM,
        "to": team.slug if team else NO_TEAM,
        **shown,
        "from_team_id": str(project.team_id) if project.team_id else None,
        "to_team_id": str(team.pk) if team else None,
        "bounds": bounds,
        "reasons": reasons,
    }


def follow_approval(approval: Approval, _actor: Actor, now: datetime) -> None:
    """Make the move in the transaction that settles it. Raises Conflict where it is no longer what was approved."""
    if approval.state != ApprovalState.APPROVED:
        return
    project = Project.objects.select_for_update(of=("self",)).select_related("team").get(pk=approval.subject_id)
    asked = approval.payload
    team = Team.objects.filter(pk=asked["to_team_id"]).first() if asked["to_team_id"] else None
    is_there = project.closed_at is None and (team is not None or asked["to_team_id"] is None)
    if not is_there or asked["from_team_id"] != (str(project.team_id) if project.team_id else None):
        raise Conflict(_CHANGED, code="changed_since")
    raises = raises_of(project, team, now)
    agreed = {each["resource"]: each["most"] for each in asked["bounds"]}
    if any(not _within(each, agreed) for each in raises):
        raise Conflict(_CHANGED, code="changed_since")
    carry_out(project, team)
    project.version += 1
    project.save(update_fields=["version"])
    for each in raises:
        if each.own is not None and each.after is not None and each.after >= _stands(each.own):
            each.own.agreed = None
            each.own.save(update_fields=["agreed"])


def _within(each: Raise, agreed: dict[str, int | None]) -> bool:
    most = agreed.get(each.resource, 0)
    return most is None or (each.after is not None and each.after <= most)


def _bounds(rows: Sequence[Quota], team_id: UUID | None, now: datetime) -> list[tuple[str, int]]:
    """What bounds the project where it stands in this team: its own quotas, the team's, the organisation's."""
    return [
        (row.resource, limit_at(row.limit, row.raised_until, row.falls_to, now) + row.borrow_limit)
        for row in rows
        if row.team_id is None or row.team_id == team_id
    ]


def _stands(own: Quota) -> int:
    return own.limit + own.borrow_limit


def _added_alone(own: Quota) -> int:
    return 0 if own.agreed is None else max(_stands(own) - own.agreed, 0)


def _reason(project: Project, each: Raise, need: Need) -> Reason:
    return Reason(
        code=need.reason.code,
        message=f"{project.name} could hold {_words(each.after)} {each.resource} instead of {each.before:,}. The rule"
        f" {need.reason.rule} lets nobody raise a quota so far alone, so the move needs approval.",
        resource=each.resource,
        asked=each.after,
        limit=each.before,
        ask="somebody else who may decide on approvals",
        rule=need.reason.rule,
    )


def _before_and_after(each: Raise) -> str:
    return f"{each.before:,} → " + ("no limit" if each.after is None else f"{each.after:,}")


def _words(most: int | None) -> str:
    return "any number of" if most is None else f"{most:,}"
