"""What every driver offers. Pure: no Django, no database, frozen values in and out.

Each call is idempotent, prompt (asks and returns, about a second) and safe when several processes
call it at once for one workload. Nothing here waits for a server to come up: the reconciler asks
again. A call that could not be answered raises `DriverUnavailable`; that is "unknown", never "gone".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable
from uuid import UUID

from provisioning.drivers.inside import Happening
from provisioning.drivers.jobs import ArrayRun, ArtifactRead, Artifacts
from provisioning.drivers.places import Topology
from provisioning.inventory import NodeFacts


class DriverUnavailable(Exception):
    """The driver could not say or do it now. Try again; conclude nothing."""


class Unauthorized(DriverUnavailable):
    """It answers, and does not accept our credentials."""


class ProbeFailed(Exception):
    """Activity could not be read. It is unknown, and unknown never stops anything."""


class VolumeInUse(Exception):
    """A volume cannot be removed while a workload holds it."""


class Phase(StrEnum):
    ABSENT = "absent"  # never started here, or removed
    STARTING = "starting"  # capacity may be bound (`started_at`), the server does not listen yet
    RUNNING = "running"  # the server listens; `ready` says whether it answered just now
    STOPPING = "stopping"  # asked to end; capacity is still held
    STOPPED = "stopped"  # everything is gone; a reason says when nobody asked for it
    SUCCEEDED = "succeeded"  # everything is gone because a command has come to its end with exit code 0
    FAILED = "failed"  # everything is gone because the server itself failed


@dataclass(frozen=True, slots=True)
class Reason:
    """Why, for machines (`code`) and for people (`message`)."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class TaskSeen:
    """One task of an array. SUCCEEDED and FAILED are for good; STARTING: it waits for its turn, or for another try.

    `failures`: how many of its tries have failed. `log`: filled in by whoever asks for it.
    """

    index: int
    phase: Phase
    started_at: datetime | None = None
    ended_at: datetime | None = None
    exit_code: int | None = None
    failures: int = 0
    log: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything a driver may know of a workload.

    `command`: what a job runs in the image, word by word; empty for what serves until it is stopped. `workers`: how
    many run it at once, each with these sizes; they begin together and end together. `framework`: what a cluster runs
    (ray, dask); its `workers` are all its nodes, the head among them. `array`: the command is run once for each task,
    and `workers` is how many of them at once. `attempt` counts a job's runs from one, `interruptions` those that were
    ended for no fault of their own. `spot`: it may run on capacity that can be taken away any time, and nowhere else.
    """

    workload_id: UUID
    organization_id: UUID
    project_id: UUID
    volume_id: UUID
    kind: str
    image: str
    vcpus: int
    memory_gib: int
    disk_gib: int
    accelerator: str | None = None
    accelerator_count: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    workers: int = 1
    framework: str = ""
    array: ArrayRun | None = None
    attempt: int = 1
    interruptions: int = 0
    spot: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """What is so. `started_at` and `ended_at` are real instants (UTC, microseconds).

    `ended_at` is the real end of the last process, else the last certain observation of it. It is
    kept after `ensure_absent`, so that a lost answer can be asked for again. Between `started_at`
    and `ended_at` capacity is held. `incarnation` names one run of the workload. `exit_code`: of the command, or of
    the first of its workers that failed; None where it did not end by itself. `mark`: how all of it looked where it
    runs and is well, of a driver that lists runs; as long as the list says the same, nothing of this has changed.
    `tasks`: of an array, those that have begun or ended. `happenings`: filled in by whoever asks for them.
    """

    phase: Phase
    started_at: datetime | None = None
    ended_at: datetime | None = None
    ready: bool = False
    reason: Reason | None = None
    log_tail: tuple[str, ...] = ()
    incarnation: str | None = None
    exit_code: int | None = None
    mark: str = ""
    tasks: tuple[TaskSeen, ...] = ()
    happenings: tuple[Happening, ...] = ()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the proxy reaches the server: a unix socket, or host and port."""

    unix_socket: str | None = None
    host: str | None = None
    port: int | None = None
    base_path: str = "/"


@runtime_checkable
class WorkloadDriver(Protocol):
    def observe(self, spec: RunSpec) -> Observation: ...

    def ensure_present(self, spec: RunSpec) -> Observation:
        """One server runs, never two.

        A run that ended unasked (SUCCEEDED, FAILED, or STOPPED with a reason) is answered as it is until
        `ensure_stopped` acknowledged it; only then does the next call start a new one. A start is
        thus never repeated behind the back of the one who must close its usage session.
        """
        ...

    def ensure_stopped(self, spec: RunSpec) -> Observation:
        """Nothing runs. Asks first, ends by force after the grace period. Files stay.

        Call until the phase is STOPPED, SUCCEEDED, FAILED or ABSENT, also after an end: it acknowledges.
        """
        ...

    def ensure_absent(self, spec: RunSpec) -> Observation:
        """Nothing is left but the volume. Call until the phase is ABSENT."""
        ...

    def endpoint_of(self, spec: RunSpec) -> Endpoint | None: ...

    def logs(self, spec: RunSpec, *, tail: int) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class KernelActivity:
    name: str
    busy: bool
    last_activity: datetime | None
    connections: int


@dataclass(frozen=True, slots=True)
class TerminalActivity:
    """`busy`: a process runs under the terminal's shell."""

    name: str
    busy: bool
    last_activity: datetime | None


@dataclass(frozen=True, slots=True)
class ActivityReading:
    """Signals at one instant. Page views are none. `detached` counts processes that left their
    terminal or kernel and still run."""

    at: datetime
    kernels: tuple[KernelActivity, ...]
    terminals: tuple[TerminalActivity, ...]
    connections: int
    detached: int

    @property
    def busy(self) -> bool:
        """Work is going on at this instant (an open connection alone is not work)."""
        working = any(kernel.busy for kernel in self.kernels)
        return working or any(terminal.busy for terminal in self.terminals) or self.detached > 0

    @property
    def last_activity(self) -> datetime | None:
        instants = [kernel.last_activity for kernel in self.kernels]
        instants += [terminal.last_activity for terminal in self.terminals]
        return max((instant for instant in instants if instant is not None), default=None)


@runtime_checkable
class ReportsActivity(Protocol):
    def activity(self, spec: RunSpec, *, now: datetime) -> ActivityReading:
        """Raises `ProbeFailed` where any signal could not be read."""
        ...


@runtime_checkable
class ListsRuns(Protocol):
    def marks(self) -> Mapping[UUID, str]:
        """How everything of ours there looks now, by workload: a few lists for all. Half a list is none."""
        ...


@dataclass(frozen=True, slots=True)
class LogPiece:
    """What a log has grown by. `mark` tells the driver where the next piece begins; `missed`: lines before these are
    gone, or there were too many."""

    lines: tuple[str, ...]
    mark: str
    missed: bool = False


@runtime_checkable
class FollowsLogs(Protocol):
    def log_after(self, spec: RunSpec, mark: str, *, whole: bool) -> LogPiece:
        """The lines since the mark; since an empty one: the last lines. `whole`: without the line under way."""
        ...


@runtime_checkable
class RunsArrays(Protocol):
    def task_log(self, spec: RunSpec, index: int, *, tail: int) -> tuple[str, ...]:
        """The last lines of the last try of one task of the run that goes on, or that went last."""
        ...


@runtime_checkable
class KeepsArtifacts(Protocol):
    def artifacts(self, spec: RunSpec) -> Artifacts:
        """While it runs and afterwards, as long as its disk is there."""
        ...

    def artifact(self, spec: RunSpec, path: str) -> ArtifactRead:
        """Raises ArtifactMissing."""
        ...


@runtime_checkable
class KeepsVolumes(Protocol):
    def ensure_volume_absent(self, *, project_id: UUID, volume_id: UUID) -> None:
        """Idempotent. Raises `VolumeInUse` while a workload holds it."""
        ...


@dataclass(frozen=True, slots=True)
class Stray:
    """Something that runs and that nobody wishes for."""

    workload_id: UUID
    processes: tuple[int, ...]
    started_at: datetime | None


@runtime_checkable
class FindsStrays(Protocol):
    def strays(self, known: Collection[UUID]) -> tuple[Stray, ...]: ...

    def end_stray(self, stray: Stray) -> Observation: ...


@runtime_checkable
class TellsNodes(Protocol):
    def nodes(self) -> tuple[NodeFacts, ...]:
        """All nodes of the cluster, whether they take work or not. Half a list is none: DriverUnavailable."""
        ...


@dataclass(frozen=True, slots=True)
class Placed:
    """A pod of ours that holds its node: which workload's, and how many of each device it has, by resource name."""

    node: str
    workload_id: UUID
    devices: tuple[tuple[str, int], ...]


@runtime_checkable
class TellsPlacement(Protocol):
    def placed(self) -> tuple[Placed, ...]:
        """Every pod of this installation that is on a node and has not ended."""
        ...


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a cluster is. `offers`: of what may be installed, what is there. `missing_rights`: "create pods", for one.

    `storage_classes`: its own names; `default_storage_class`: empty where it has none. `devices`: resource names.
    """

    version: str
    offers: tuple[str, ...]
    missing_rights: tuple[str, ...]
    storage_classes: tuple[str, ...] = ()
    default_storage_class: str = ""
    devices: tuple[str, ...] = ()
    topology: Topology | None = None


@runtime_checkable
class TellsCapabilities(Protocol):
    def capabilities(self) -> Capabilities:
        """Some forty short questions. Raises `DriverUnavailable`, and `Unauthorized` for credentials that fail."""
        ...


@dataclass(frozen=True, slots=True)
class Leftover:
    """A disk of this installation on a cluster, or something whose end hangs on a finalizer of somebody else's.

    `name`: kind, namespace and name; with `uid` it names this very object. `since`: when it was made, or asked to end.
    """

    name: str
    uid: str
    since: datetime
    volume_id: UUID | None = None
    size_gib: int = 0
    workload_id: UUID | None = None
    finalizers: tuple[str, ...] = ()


@runtime_checkable
class FindsLeftovers(Protocol):
    def leftovers(self) -> tuple[Leftover, ...]:
        """Every disk, wished for or not, and everything that ends and cannot. Half a list is none."""
        ...

    def remove_leftover(self, leftover: Leftover) -> None:
        """Delete a disk; take the foreign finalizers from what hangs. That very object, or none."""
        ...


@dataclass(frozen=True, slots=True)
class Hint:
    """Something on a cluster is not as it was: its nodes where no workload is named. Lists say how it is."""

    organization_id: UUID | None = None
    workload_id: UUID | None = None


class Watch(Protocol):
    """One of the watches on a cluster. It remembers what it has heard, from one session to the next."""

    name: str

    def hints(self) -> Iterator[Hint]:
        """One session, which ends by itself after a while. Raises `DriverUnavailable` where it breaks."""
        ...


@runtime_checkable
class TellsChanges(Protocol):
    def watches(self) -> tuple[Watch, ...]:
        """New ones, which have heard nothing yet. A hint may be missed, come twice or too late."""
        ...


@runtime_checkable
class KeepsQueues(Protocol):
    def keep_queues(self, limits: Mapping[UUID, Mapping[str, int]]) -> tuple[str, ...]:
        """Make the cluster's own queues say what organisations may hold. Returns what of it others had changed."""
        ...


@runtime_checkable
class StatesCaveats(Protocol):
    def caveats(self) -> tuple[str, ...]:
        """What this driver does not keep apart or does not limit, as sentences for people. Touches no workload."""
        ...
