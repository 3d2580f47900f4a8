"""What the portal asks of a running workload, through whichever driver runs it: where it listens, what it says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from uuid import UUID

from core.types import Actor
from provisioning.drivers.inside import Happening, PodsSeen
from provisioning.drivers.jobs import ArtifactRead, Artifacts
from provisioning.drivers.nowhere import Nowhere
from provisioning.drivers.registry import driver_at, driver_names, using
from provisioning.services import artifacts, entries, inside, reading
from provisioning.services.entries import Admitted, Denied
from provisioning.services.listening import EventReader, LogReader
from provisioning.types import NEWEST, LogOf


def admit(*, label: str, cookie: str, now: datetime) -> Admitted | Denied:
    """Whether a cookie admits to the workspace of that host now, and where its server listens."""
    return entries.admit(label=label, cookie=cookie, drivers=driver_at, now=now)


def log_of(*, actor: Actor, workload_id: UUID, tail: int, of: LogOf = NEWEST) -> tuple[str, ...]:
    """The last lines of a workload's log, or of one attempt of a job, or one task of an array.

    Call it outside any scope: it opens a short one of its own.
    """
    return reading.log_of(actor=actor, workload_id=workload_id, tail=tail, drivers=driver_at, of=of)


def artifacts_of(*, actor: Actor, workload_id: UUID) -> Artifacts:
    """The files that a job left. Call it outside any scope, as above."""
    return artifacts.artifacts_of(actor=actor, workload_id=workload_id, drivers=driver_at)


def artifact(*, actor: Actor, workload_id: UUID, path: str) -> ArtifactRead:
    """One of them, open."""
    return artifacts.artifact(actor=actor, workload_id=workload_id, path=path, drivers=driver_at)


def pods_of(*, actor: Actor, workload_id: UUID) -> PodsSeen:
    """What runs of a workload now. Call it outside any scope, as above."""
    return inside.pods_of(actor=actor, workload_id=workload_id, drivers=driver_at)


def happenings_of(*, actor: Actor, workload_id: UUID) -> tuple[Happening, ...]:
    """What its cluster says of it, and said."""
    return inside.happenings_of(actor=actor, workload_id=workload_id, drivers=driver_at)


def log_reader(organization_id: UUID, workload_id: UUID) -> LogReader:
    """Reads what a workload's log grows by. Ask it outside any scope, one question at a time."""
    return LogReader(organization_id, workload_id, driver_at)


def event_reader(organization_id: UUID, workload_id: UUID) -> EventReader:
    """The same for its timeline."""
    return EventReader(organization_id, workload_id)


@contextmanager
def reaching_nobody() -> Iterator[None]:
    """Drivers that call nobody, in the place of all there are: for a walk over the routes that must touch no work."""
    with ExitStack() as stack:
        for name in driver_names():
            stack.enter_context(using(name, Nowhere()))
        yield
