"""Questions about approvals: which there are, which wait for whom, who said what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from core.errors import NotFound
from core.types import Actor
from tenants.enums import ApprovalState, Decider, Permission, PlatformPermission
from tenants.models import Approval, ApprovalDecision, Team
from tenants.permissions import platform_permissions_on, projects_filter, teams_filter


@dataclass(frozen=True, slots=True)
class DueApproval:
    organization_id: UUID
    id: UUID


def approvals_visible_to(actor: Actor) -> QuerySet[Approval]:
    """One's own, and those of the places where the actor may see approvals; the platform's people see theirs."""
    rows = Approval.objects.select_related("project", "team", "organization")
    everywhere = _on_places(actor, Permission.VIEW_APPROVAL)
    if not everywhere:
        return rows
    if PlatformPermission.DECIDE_PLATFORM_APPROVAL in platform_permissions_on(actor):
        everywhere |= Q(decider=Decider.PLATFORM)
    return rows.filter(everywhere | Q(asked_by=actor.person_id))


def approval_for(actor: Actor, approval_id: UUID) -> Approval:
    """Raises NotFound for one that the actor may not see."""
    found = approvals_visible_to(actor).filter(pk=approval_id).first()
    if found is None:
        raise NotFound("approval", approval_id)
    return found


def approvals_waiting_for(actor: Actor, *, now: datetime) -> QuerySet[Approval]:
    """The actor's inbox: what it may decide and has not, never its own."""
    said = ApprovalDecision.objects.filter(by=actor.person_id).values("approval_id")
    return (
        Approval.objects.filter(_on_places(actor, Permission.DECIDE_APPROVAL))
        .filter(state=ApprovalState.OPEN, decider=Decider.ORGANIZATION, expires_at__gt=now)
        .filter(_not_ones_own(actor))
        .exclude(pk__in=said)
        .select_related("project", "team", "organization")
    )


def platform_approvals(*, now: datetime, most: int) -> list[Approval]:
    """What the platform decides: open ones, soonest to expire first, then the latest others; in its own scope."""
    rows = Approval.objects.filter(decider=Decider.PLATFORM).select_related("project", "team", "organization")
    waiting = Q(state=ApprovalState.OPEN, expires_at__gt=now)
    open_ones = list(rows.filter(waiting).order_by("expires_at", "pk")[:most])
    return open_ones + list(rows.exclude(waiting).order_by("-pk")[: most - len(open_ones)])


def is_ones_own(approval: Approval, actor: Actor) -> bool:
    """Whether the actor asked for it, or could have had it asked for: then others decide."""
    return actor.person_id == approval.asked_by or actor.person_id in approval.behind


def latest_approval(kind: str, subject_id: UUID) -> Approval | None:
    """The newest request about an object of the scope, whatever became of it; for services and the platform's parts."""
    return Approval.objects.filter(kind=kind, subject_id=subject_id).order_by("-pk").first()


def open_about(kind: str, subject_id: UUID, *, now: datetime) -> Approval | None:
    """What waits about an object that the caller may see."""
    rows = Approval.objects.filter(kind=kind, subject_id=subject_id, state=ApprovalState.OPEN, expires_at__gt=now)
    return rows.first()


def decisions_on(approval_ids: Iterable[UUID]) -> dict[UUID, list[ApprovalDecision]]:
    """Who said what, oldest first, by approval."""
    found: dict[UUID, list[ApprovalDecision]] = {}
    for decision in ApprovalDecision.objects.filter(approval_id__in=[*approval_ids]).order_by("pk"):
        found.setdefault(decision.approval_id, []).append(decision)
    return found


def due_approvals(now: datetime, *, most: int) -> list[DueApproval]:
    """Open ones past their time, across organisations. Asked before a tenant is known."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT organization_id, approval_id FROM steelyard_due_approvals(%s, %s)", [now, most])
        return [DueApproval(*row) for row in cursor.fetchall()]


def count_waiting_for(actor: Actor, *, now: datetime) -> int:
    """How many wait for the actor. Every page asks, so mostly one query: nothing is open that is not its own."""
    open_ones = Approval.objects.filter(state=ApprovalState.OPEN, decider=Decider.ORGANIZATION, expires_at__gt=now)
    if not open_ones.filter(_not_ones_own(actor)).exists():
        return 0
    return approvals_waiting_for(actor, now=now).count()


def _not_ones_own(actor: Actor) -> Q:
    return (Q(asked_by=None) | ~Q(asked_by=actor.person_id)) & ~Q(behind__contains=[actor.person_id])


def _on_places(actor: Actor, permission: Permission) -> Q:
    """Rows decided on a place where the actor holds the permission; empty, so all, for one who holds it everywhere."""
    on_project = projects_filter(actor, permission, prefix="project_id")
    if not on_project:
        return on_project
    return on_project | Q(team__in=Team.objects.filter(teams_filter(actor, permission)))
