"""What a change of the rules would have denied: the launches of the last thirty days, judged again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from uuid import UUID

from provisioning.durations import duration
from provisioning.models import Workload
from provisioning.selectors.catalogue import Prices, prices_for
from tenants.policy_rules import Decision, Rule, Subject, decide

DAYS = 30
MOST = 2000
"""Launches looked at, newest first."""
SHOWN = 50


@dataclass(frozen=True, slots=True)
class Affected:
    """One launch that the change would have treated otherwise. `outcome`: denied, approval or stopped."""

    workload_id: UUID
    name: str
    project: str
    owner: str
    at: datetime
    outcome: str
    message: str


@dataclass(frozen=True, slots=True)
class ProjectCount:
    project: str
    denied: int
    approval: int
    stopped: int


@dataclass(frozen=True, slots=True)
class PolicyPreview:
    """`launches`: how many were judged; `affected`: the newest of those that would have gone otherwise."""

    launches: int
    denied: int
    approval: int
    stopped: int
    by_project: tuple[ProjectCount, ...]
    affected: tuple[Affected, ...]
    since: datetime


def preview_rule(rule: Rule, *, others: Sequence[Rule], currency: str, now: datetime) -> PolicyPreview:
    """What this rule, enforced beside the others, would have changed.

    In the scope of an organisation: its launches; in the platform's: everybody's. Prices are today's, and so are the
    projects' classes of data. Launches that were refused then are not kept with their spec, so they are not counted.
    """
    since = now - timedelta(days=DAYS)
    rows = list(
        Workload.objects.filter(created_at__gte=since)
        .select_related("project__organization", "owner", "image", "volume", "shape__accelerator", "shape__region")
        .order_by("-created_at")[:MOST]
    )
    prices = prices_for({row.shape_id: row.shape for row in rows}.values(), currency, now)
    affected = [
        found for row in rows if (found := _affected(row, others, rule, _subject(row, prices), now)) is not None
    ]
    counted = _counts(affected)
    return PolicyPreview(
        launches=len(rows),
        denied=sum(each.denied for each in counted),
        approval=sum(each.approval for each in counted),
        stopped=sum(each.stopped for each in counted),
        by_project=counted,
        affected=tuple(affected[:SHOWN]),
        since=since,
    )


def _affected(row: Workload, others: Sequence[Rule], rule: Rule, subject: Subject, now: datetime) -> Affected | None:
    before, after = decide(others, subject), decide([*others, rule], subject)
    outcome, message = _difference(row, before, after, now)
    if not outcome:
        return None
    return Affected(
        workload_id=row.pk,
        name=row.name,
        project=f"{row.project.organization.slug}/{row.project.slug}",
        owner=row.owner.full_name or row.owner.email,
        at=row.created_at,
        outcome=outcome,
        message=message,
    )


def _difference(row: Workload, before: Decision, after: Decision, now: datetime) -> tuple[str, str]:
    if after.denied and not before.denied:
        return "denied", after.denials[0].reason.message
    if after.deciders > before.deciders and not after.denied:
        return "approval", after.approvals[-1].reason.message
    limit = after.max_lifetime
    if limit is not None and limit != before.max_lifetime and _ran(row, now) > limit.at_most:
        return "stopped", f"It ran longer than {limit.rule.title} allows."
    return "", ""


def _ran(row: Workload, now: datetime) -> timedelta:
    """How long its last run has lasted."""
    if row.running_at is None:
        return timedelta(0)
    ended = row.ended_at if row.ended_at is not None and row.ended_at > row.running_at else now
    return ended - row.running_at


def _subject(row: Workload, prices: Prices) -> Subject:
    hardware, disk = prices.of_workload(row), prices.disk_gib_hour
    labels: Mapping[str, str] = row.spec.get("labels") or {}
    return Subject(
        project=row.project.slug,
        data_class=row.project.data_class,
        region=row.shape.region.slug,
        image=row.image.reference or row.image.slug,
        accelerator=row.shape.accelerator.model if row.shape.accelerator else None,
        accelerator_count=row.shape.accelerator_count * row.replicas,
        capacity_kind=row.shape.capacity_kind,
        price_per_hour=None if hardware is None else hardware + (disk or Fraction(0)) * row.volume.size_gib,
        currency=prices.currency,
        labels=labels,
        lifetime=duration("MAXIMUM_LIFETIME"),
        idle_after=duration("IDLE_STOP_AFTER"),
    )


def _counts(affected: Sequence[Affected]) -> tuple[ProjectCount, ...]:
    def of(project: str, outcome: str) -> int:
        return sum(each.project == project and each.outcome == outcome for each in affected)

    names = sorted({each.project for each in affected})
    return tuple(ProjectCount(name, of(name, "denied"), of(name, "approval"), of(name, "stopped")) for name in names)
