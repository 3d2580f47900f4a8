"""What a workload has said since it was last asked: readers that whoever streams it keeps and asks again and again.

Each question is one short scope and, after it, at most one call of a driver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from core import scope
from core.api.rendering import dumps
from provisioning.drivers.base import DriverUnavailable, FollowsLogs, LogPiece, RunSpec, WorkloadDriver
from provisioning.drivers.places import Place
from provisioning.enums import State
from provisioning.lifecycle import ENDED
from provisioning.models import Event, Workload
from provisioning.selectors.listing import event_facts
from provisioning.selectors.specs import place_of, spec_of
from provisioning.services.reading import MOST_LINES, kept_lines
from tenants.selectors import people_by_id

MOST_EVENTS = 200

Drivers = Callable[[Place], WorkloadDriver]


@dataclass(frozen=True, slots=True)
class Told:
    """A line of a log, or the JSON of an event with its id and code."""

    text: str
    id: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """`missed`: something before this was left out. `over`: nothing more will come."""

    told: tuple[Told, ...] = ()
    missed: bool = False
    over: bool = False


class LogReader:
    """A workload's log: its last lines first, then what is new. Over when the run is, and all of it was read."""

    def __init__(self, organization_id: UUID, workload_id: UUID, drivers: Drivers) -> None:
        self._organization_id = organization_id
        self._workload_id = workload_id
        self._drivers = drivers
        self._mark = ""
        self._seen: tuple[str, ...] = ()
        self._silent = True

    def more(self) -> Said:
        with scope.of_organization(self._organization_id):
            workload = (
                Workload.objects.filter(pk=self._workload_id)
                .select_related("image", "volume", "cluster", "shape__accelerator", "shape__region")
                .first()
            )
            if workload is None:
                return Said(over=True)
            over = workload.state in ENDED
            spec, place = spec_of(workload), place_of(workload.cluster)
            kept = kept_lines(workload) if over and self._silent else ()
        try:
            piece = self._piece(spec, self._drivers(place), over=over)
        except DriverUnavailable:
            piece, over = LogPiece((), self._mark), over and bool(kept)
        lines = piece.lines or (kept if self._silent else ())
        self._mark, self._silent = piece.mark, self._silent and not lines
        return Said(tuple(Told(line) for line in lines), missed=piece.missed, over=over)

    def _piece(self, spec: RunSpec, driver: WorkloadDriver, *, over: bool) -> LogPiece:
        if isinstance(driver, FollowsLogs):
            return driver.log_after(spec, self._mark, whole=not over)
        before, self._seen = self._seen, driver.logs(spec, tail=MOST_LINES)
        return LogPiece(grown_by(before, self._seen), self._mark)


class EventReader:
    """A workload's timeline, oldest first: what is there, then what is new. Over when it is deleted."""

    def __init__(self, organization_id: UUID, workload_id: UUID) -> None:
        self._organization_id = organization_id
        self._workload_id = workload_id
        self._seen: frozenset[UUID] = frozenset()

    def more(self) -> Said:
        """Events that were written at one time may come to light in another order than that of their ids: what is new
        is what was not among the newest before."""
        with scope.of_organization(self._organization_id):
            state = Workload.objects.filter(pk=self._workload_id).values_list("state", flat=True).first()
            latest = list(Event.objects.filter(workload_id=self._workload_id).order_by("-id")[:MOST_EVENTS])
            new = [row for row in reversed(latest) if row.pk not in self._seen]
            people = people_by_id({row.actor_id for row in new if row.actor_id})
            told = tuple(Told(dumps(event_facts(row, people)).decode(), str(row.pk), row.code) for row in new)
        self._seen = frozenset(row.pk for row in latest)
        return Said(told, over=state in (None, State.DELETED))


def grown_by(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of the newer tail that the older one lacks: behind the longest end of it that the newer begins with."""
    for start in range(len(before)):
        rest = before[start:]
        if after[: len(rest)] == rest:
            return after[len(rest) :]
    return after
