"""Leases: who works on a workload now. A short transaction takes one, the apply gives it back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, Q

from core import scope
from core.ids import uuid7
from provisioning.drivers.base import WorkspaceSpec
from provisioning.durations import duration
from provisioning.enums import DesiredState, State
from provisioning.models import Workload
from provisioning.selectors.specs import spec_of
from provisioning.services.transitions import locked


@dataclass(frozen=True, slots=True)
class Claimed:
    """A workload as it was when its lease was taken."""

    organization_id: UUID
    workload_id: UUID
    token: UUID
    generation: int
    state: State
    desired: DesiredState
    ends_as: State
    has_run: bool
    deadline_at: datetime | None
    driver: str
    spec: WorkspaceSpec

    def is_late(self, now: datetime) -> bool:
        return self.deadline_at is not None and now >= self.deadline_at


def claim(organization_id: UUID, workload_id: UUID, *, now: datetime, steal: bool = False) -> Claimed | None:
    """Lease a workload that is due; None where it is not, or where somebody else works on it.

    `steal`: also what is not due and what is leased, for the one who knows that nobody else is left.
    """
    with scope.of_organization(organization_id):
        due = Q(due_at__lte=now) | Q(observed_generation__lt=F("generation"))
        free = Q(lease_until=None) | Q(lease_until__lte=now)
        if not steal and not Workload.objects.filter(due, free, pk=workload_id).exists():
            return None
        workload = locked(workload_id, skip=True)
        if workload is None or not (steal or _is_due(workload, now)):
            return None
        token = uuid7()
        Workload.objects.filter(pk=workload_id).update(lease_token=token, lease_until=now + duration("LEASE"))
        return _claimed(workload, token)


def _is_due(workload: Workload, now: datetime) -> bool:
    """Asked again under the lock: the row may have changed since it was found."""
    due = workload.due_at is not None and workload.due_at <= now
    free = workload.lease_until is None or workload.lease_until <= now
    return free and (due or workload.observed_generation < workload.generation)


def _claimed(workload: Workload, token: UUID) -> Claimed:
    placed, ran = workload.placed_at, workload.running_at
    return Claimed(
        organization_id=workload.organization_id,
        workload_id=workload.pk,
        token=token,
        generation=workload.generation,
        state=State(workload.state),
        desired=DesiredState(workload.desired_state),
        ends_as=State(workload.ends_as),
        has_run=placed is not None and ran is not None and ran >= placed,
        deadline_at=workload.deadline_at,
        driver=workload.cluster.driver,
        spec=spec_of(workload),
    )
