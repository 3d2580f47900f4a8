"""What a workload says: its log, asked of the driver outside any transaction."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from core import scope
from core.types import Actor
from provisioning.drivers.base import DriverUnavailable, WorkloadDriver
from provisioning.drivers.places import Place
from provisioning.models import Event, Workload
from provisioning.selectors.specs import place_of, spec_of
from provisioning.selectors.workloads import workload_for

MOST_LINES = 2000


def log_of(
    *, actor: Actor, workload_id: UUID, tail: int, drivers: Callable[[Place], WorkloadDriver]
) -> tuple[str, ...]:
    """The last lines of a workload's log, for those who may see it. Opens a short scope of its own.

    Where the driver has nothing left, the lines that were kept when it failed.
    """
    assert actor.organization_id is not None
    with scope.of_organization(actor.organization_id):
        workload = workload_for(actor, workload_id)
        spec, place = spec_of(workload), place_of(workload.cluster)
        kept = kept_lines(workload)
    try:
        lines = drivers(place).logs(spec, tail=min(tail, MOST_LINES))
    except DriverUnavailable:
        lines = ()
    return lines or kept


def kept_lines(workload: Workload) -> tuple[str, ...]:
    """The last lines of the run that failed last, as its event holds them."""
    kept = Event.objects.filter(workload=workload, details__has_key="log").order_by("-id").first()
    return tuple(kept.details["log"]) if kept else ()
