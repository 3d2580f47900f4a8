"""Leases: who works on a workload now. A short transaction takes one, the apply gives it back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, Q

from core import scope
from core.ids import uuid7
from provisioning.drivers.base import RunSpec
from provisioning.drivers.places import Place
from provisioning.durations import duration
from provisioning.enums import DesiredState, State
from provisioning.models import Workload
from provisioning.selectors.specs import next_run_of, place_of
from provisioning.types import JobSpec


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
    place: Place
    spec: RunSpec
    job: JobSpec | None = None
    failures: int = 0

    def is_late(self, now: datetime) -> bool:
        return self.deadline_at is not None and now >= self.deadline_at


def claim(organization_id: UUID, workload_id: UUID, *, now: datetime, steal: bool = False) -> Claimed | None:
    """Lease a workload that is due; None where it is not, or where somebody else works on it.

    `steal`: also what is not due and what is leased, for the one who knows that nobody else is left.
    """
    with scope.of_organization(organization_id):
        due = Q(due_at__lte=now) | Q(observed_generation__lt=F("generation"))
        free = Q(lease_until=None) | Q(lease_until__lte=now)
        rows = Workload.objects.select_for_update(no_key=True, skip_locked=True).filter(pk=workload_id)
        mine = rows if steal else rows.filter(due, free)
        token = uuid7()
        if not Workload.objects.filter(pk__in=mine.values("pk")).update(
            lease_token=token, lease_until=now + duration("LEASE")
        ):
            return None
        loaded = Workload.objects.select_related("cluster", "image", "volume", "shape__accelerator")
        return _claimed(loaded.get(pk=workload_id), token)


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
        place=place_of(workload.cluster),
        spec=next_run_of(workload),
        job=workload.job,
        failures=workload.failures,
    )
