"""Quotas against what lives: drift is found and reported first, and corrected in a second act.

A workload's state and its holds change in one transaction, so they differ only where something wrote past the services
(a restored copy, a hand in the database). What looks different from afar is looked at again under the workload's lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import structlog
from django.db.models import Q, QuerySet
from prometheus_client import Counter

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.types import Actor, Json, Reason, system_actor
from provisioning.enums import MAY_RUN, State, VolumeState
from provisioning.lifecycle import HOLDS, Holding
from provisioning.models import Workload
from provisioning.services import holdings
from provisioning.services.transitions import locked, note, wake
from tenants.selectors import organization_by_id
from tenants.selectors.quotas import drifting_quotas, holds_by_holder, organization_ids
from tenants.services import quota_drift as tenants_drift
from tenants.services import quotas
from tenants.types import Claim

log = structlog.get_logger(__name__)
FOUND = Counter("steelyard_quota_drift_total", "Quotas and holds that did not say what lives.", ["kind"])
MOST_AT_ONCE = 200
_STORAGE = "storage_gib"


@dataclass(frozen=True, slots=True)
class Drift:
    """What does not agree in one organisation: holds by workload (should be, are), and quotas (held, used)."""

    organization_id: UUID
    holds: Mapping[UUID, tuple[Claim, Claim]]
    quotas: Mapping[UUID, tuple[int, int]]

    def __bool__(self) -> bool:
        return bool(self.holds or self.quotas)

    def as_json(self) -> dict[str, Json]:
        return {
            "holds": {
                str(key): {"expected": dict(due.amounts), "held": dict(held.amounts)}
                for key, (due, held) in sorted(self.holds.items())[:MOST_AT_ONCE]
            },
            "quotas": {
                str(key): {"held": held, "used": used}
                for key, (held, used) in sorted(self.quotas.items())[:MOST_AT_ONCE]
            },
        }


def sweep(*, now: datetime, correct: bool = True) -> list[Drift]:
    """Every organisation, each in scopes and acts of its own; one that fails does not keep the others waiting."""
    found = []
    for organization_id in organization_ids():
        try:
            if correct:
                resolve_contradictions(organization_id, now=now)
            drift = report(organization_id, now=now)
            if drift:
                found.append(drift)
                if correct:
                    mend(drift, now=now)
        except Exception:
            log.exception("quota_drift_failed", organization=str(organization_id))
    return found


def resolve_contradictions(organization_id: UUID, *, now: datetime) -> int:
    """Workloads that cannot run by their state and still occupy a cluster: the state counts, the rest is let go."""
    with scope.of_organization(organization_id):
        suspects = list(_contradictory().values_list("pk", flat=True)[:MOST_AT_ONCE])
    return sum(_resolve(organization_id, workload_id, now) for workload_id in suspects)


def report(organization_id: UUID, *, now: datetime) -> Drift:
    """Look, and look again under locks at what seems different. What is so is logged, counted and in the audit log."""
    with scope.of_organization(organization_id):
        suspects = [key for key, (due, held) in _compare(_living(), holds_by_holder("workload")).items() if due != held]
        wrong = drifting_quotas(organization_id)
    if not suspects and not wrong:
        return Drift(organization_id, {}, {})
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
        drift = _look_again(organization_id, suspects)
        if not drift:
            return drift
        ref = organization_by_id(organization_id).ref
        audit.record(_actor(organization_id), "quota.drift_found", ref, now=now, after=drift.as_json())
    FOUND.labels("holds").inc(len(drift.holds))
    FOUND.labels("quotas").inc(len(drift.quotas))
    log.warning("quota_drift_found", organization=str(organization_id), **drift.as_json())
    return drift


def mend(drift: Drift, *, now: datetime) -> None:
    """Make the holds what lives, and what is used the sum of the holds. What runs is held, also above a limit."""
    organization_id = drift.organization_id
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
        again = _look_again(organization_id, list(drift.holds))
        if not again:
            return
        rows = {row.pk: row for row in _rows(again.holds)}
        for workload_id, (due, _) in again.holds.items():
            row = rows.get(workload_id)
            if row is None:
                tenants_drift.let_go(workload_id, kind="workload")
            else:
                tenants_drift.hold_exactly(row.project, due, holdings.holder_of(row), now=now)
                if row.state == State.RUNNING:
                    quotas.put_to_use(holder=holdings.holder_of(row), now=now)
        tenants_drift.recount(organization_id)
        ref = organization_by_id(organization_id).ref
        audit.record(
            _actor(organization_id), "quota.drift_corrected", ref, now=now, before=again.as_json(), after={"drift": 0}
        )
    log.warning("quota_drift_corrected", organization=str(organization_id))


def _look_again(organization_id: UUID, suspects: Sequence[UUID]) -> Drift:
    """The same under locks, in the order of every act: workloads, then the organisation's quotas."""
    for workload_id in sorted(suspects):
        locked(workload_id)
    tenants_drift.lock_quotas(organization_id)
    held = {key: claim for key, claim in holds_by_holder("workload").items() if key in set(suspects)}
    compared = _compare(_rows(suspects), held)
    return Drift(
        organization_id,
        {key: pair for key, pair in compared.items() if pair[0] != pair[1]},
        drifting_quotas(organization_id),
    )


def _compare(rows: Iterable[Workload], held: Mapping[UUID, Claim]) -> dict[UUID, tuple[Claim, Claim]]:
    """What each workload should hold and what it holds; what nothing living holds should be nothing."""
    found = {
        row.pk: (_due(row, held.get(row.pk, holdings.NOTHING)), held.get(row.pk, holdings.NOTHING)) for row in rows
    }
    return found | {key: (holdings.NOTHING, claim) for key, claim in held.items() if key not in found}


def _due(row: Workload, held: Claim) -> Claim:
    match HOLDS[State(row.state)]:
        case Holding.ALL:
            return holdings.claim_of(row)
        case Holding.STORAGE:
            return Claim(((_STORAGE, row.volume.size_gib),)) if row.volume.state == VolumeState.PRESENT else Claim(())
        case Holding.AS_BEFORE:  # either of the two, as it was when the delete was asked for
            return held
    return Claim(())


def _living() -> Iterable[Workload]:
    return _with_claims().exclude(state=State.DELETED)


def _rows(ids: Iterable[UUID]) -> list[Workload]:
    return list(_with_claims().filter(pk__in=[*ids]))


def _with_claims() -> QuerySet[Workload]:
    return Workload.objects.select_related("project", "shape__accelerator", "shape__region", "volume")


def _contradictory() -> QuerySet[Workload]:
    occupies = Q(placed_at__isnull=False) | Q(allocations__isnull=False, allocations__held_to__isnull=True)
    return Workload.objects.filter(occupies).exclude(state__in=MAY_RUN).distinct()


def _resolve(organization_id: UUID, workload_id: UUID, now: datetime) -> bool:
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
        workload = locked(workload_id)
        if workload is None or not _contradictory().filter(pk=workload_id).exists():
            return False
        at = max(now, workload.state_since)
        before = _told(workload)
        actor = _actor(organization_id)
        fields = holdings.release(workload, at) | {"version": workload.version + 1}
        if workload.state == State.REQUESTED:
            message = "Evicted: it holds nothing any more, and is admitted again when there is room."
            fields |= {"reason": Reason(code="evicted", message=message).as_json(), "due_at": at}
        Workload.objects.filter(pk=workload_id).update(**fields)
        for name, value in fields.items():
            setattr(workload, name, value)
        note(workload, actor, "workload.contradiction_resolved", "What it held against its state was let go.", at=at)
        audit.record(
            actor, "workload.contradiction_resolved", workload.ref, now=at, before=before, after=_told(workload)
        )
        wake(workload)
    log.warning("workload_contradiction_resolved", workload=str(workload_id))
    return True


def _told(workload: Workload) -> dict[str, Json]:
    return {
        "state": str(workload.state),
        "reason": workload.reason,
        "placed_at": workload.placed_at.isoformat() if workload.placed_at else None,
    }


def _actor(organization_id: UUID) -> Actor:
    return system_actor("quota sweep", organization_id)
