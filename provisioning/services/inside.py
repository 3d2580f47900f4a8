"""Pods of a workload and the events of its cluster: asked outside any transaction, and kept when a run has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final
from uuid import UUID

from core import scope
from core.types import Actor
from provisioning.drivers.base import DriverUnavailable, WorkloadDriver
from provisioning.drivers.inside import Happening, PodsSeen, TellsHappenings, TellsPods
from provisioning.drivers.places import Place
from provisioning.models import ClusterEvent, Workload
from provisioning.selectors.specs import place_of, spec_of
from provisioning.selectors.workloads import workload_for

MOST_KEPT: Final = 500
_LONGEST: Final = 2_000
Drivers = Callable[[Place], WorkloadDriver]


def pods_of(*, actor: Actor, workload_id: UUID, drivers: Drivers) -> PodsSeen:
    """Those that are there now. Where they cannot be asked for, none, with the reason. Raises NotFound."""
    assert actor.organization_id is not None
    with scope.of_organization(actor.organization_id):
        workload = workload_for(actor, workload_id)
        spec, place = spec_of(workload, variables=False), place_of(workload.cluster)
    driver = drivers(place)
    if not isinstance(driver, TellsPods):
        return PodsSeen((), "This kind of cluster does not tell of its pods.")
    try:
        return driver.pods(spec)
    except DriverUnavailable as error:
        return PodsSeen((), f"Its cluster does not answer: {error}")


def happenings_of(*, actor: Actor, workload_id: UUID, drivers: Drivers) -> tuple[Happening, ...]:
    """What the cluster says now and what was kept of earlier runs, the newest first. Raises NotFound."""
    assert actor.organization_id is not None
    with scope.of_organization(actor.organization_id):
        workload = workload_for(actor, workload_id)
        spec, place = spec_of(workload, variables=False), place_of(workload.cluster)
        found = {each.uid: each for each in _kept(workload)}
    driver = drivers(place)
    if isinstance(driver, TellsHappenings):
        with suppress(DriverUnavailable):  # what was kept is still true
            found |= {each.uid: each for each in driver.happenings(spec)}
    return tuple(sorted(found.values(), key=lambda each: each.at, reverse=True))


def keep(workload: Workload, told: Iterable[Happening]) -> None:
    """They go with the workload, not with the pods. The row is locked by the caller; one that is known is brought up to
    date, and no more than so many are kept."""
    fresh = [each for each in told if each.uid][:MOST_KEPT]
    if not fresh:
        return
    ClusterEvent.objects.bulk_create(
        [
            ClusterEvent(
                organization_id=workload.organization_id,
                workload=workload,
                uid=each.uid[:64],
                at=each.at,
                about=each.about[:300],
                reason=each.reason[:120],
                message=each.message[:_LONGEST],
                warning=each.warning,
                count=each.count,
            )
            for each in fresh
        ],
        update_conflicts=True,
        unique_fields=["workload", "uid"],
        update_fields=["at", "message", "count"],
    )
    newest = ClusterEvent.objects.filter(workload=workload).order_by("-at").values("pk")[:MOST_KEPT]
    ClusterEvent.objects.filter(workload=workload).exclude(pk__in=newest).delete()


def _kept(workload: Workload) -> list[Happening]:
    rows = ClusterEvent.objects.filter(workload=workload).order_by("-at")[:MOST_KEPT]
    return [
        Happening(row.uid, row.at, row.about, row.reason, row.message, warning=row.warning, count=row.count)
        for row in rows
    ]
