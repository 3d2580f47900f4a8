"""Values of provisioning: frozen, plain, handed across the layers and to the apps above."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from uuid import UUID

from core.types import Json, ObjectRef, Reason
from provisioning.enums import Activity, CapacityKind, ClusterStanding, DesiredState, Rule, Source, Starts, State
from tenants.policy_rules import Rule as PolicyRule
from tenants.types import Claim, QuotaBook

NOTHING = Claim(())


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Many tasks of one command. `parallelism`: how many at once, each on a shape of its own; that is what is held.

    `sweep`: environment variables with their values; the tasks are their product, in the order of the variables'
    names, and the last one turns fastest. `stops_at_failure`: the first task that fails for good ends the others.
    """

    count: int
    parallelism: int = 1
    sweep: tuple[tuple[str, tuple[str, ...]], ...] = ()
    stops_at_failure: bool = False

    def as_json(self) -> dict[str, Json]:
        return {
            "count": self.count,
            "parallelism": self.parallelism,
            "sweep": {name: list(values) for name, values in self.sweep},
            "stop_at_first_failure": self.stops_at_failure,
        }


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What a job runs. `command`: the words of one command, each as it is (no shell looks at them).

    `workers`: how many run it at once, each on a shape of its own. `retries`: how often it is tried again after a
    failure of its own; an interruption by the cluster is none. `max_duration`: of one attempt. `success_codes` are the
    exit codes with which it is done, `fatal_codes` those after which another try is pointless. `array`: it is many
    tasks, each of which is tried so often, and none of which has workers.
    """

    command: tuple[str, ...]
    workers: int = 1
    retries: int = 0
    max_duration: timedelta | None = None
    success_codes: tuple[int, ...] = (0,)
    fatal_codes: tuple[int, ...] = ()
    array: ArraySpec | None = None

    @property
    def replicas(self) -> int:
        """How many of its shape it takes."""
        return self.workers if self.array is None else min(self.array.parallelism, self.array.count)

    def as_json(self) -> dict[str, Json]:
        seconds = None if self.max_duration is None else int(self.max_duration.total_seconds())
        return {
            "command": list(self.command),
            "workers": self.workers,
            "retries": self.retries,
            "max_duration_seconds": seconds,
            "success_codes": list(self.success_codes),
            "fatal_codes": list(self.fatal_codes),
            "array": None if self.array is None else self.array.as_json(),
        }


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """A Ray or Dask cluster, as its image says. `nodes`: how many, each on a shape of its own, the head first."""

    nodes: int

    def as_json(self) -> dict[str, Json]:
        return {"nodes": self.nodes}


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """What a person asks for. `name` empty: the platform proposes one. `volume_id`: a kept disk to bring back.

    `job`: what a job runs, `cluster`: how large a cluster is; None for every other kind.

    `preemptible`: it may be ended, to start again later, where it stands on quota that its lender wants back.
    """

    kind: str
    shape: str
    image: str
    disk_gib: int
    name: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    volume_id: UUID | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    preemptible: bool = False
    job: JobSpec | None = None
    cluster: ClusterSpec | None = None

    @property
    def replicas(self) -> int:
        """How many of its shape it takes."""
        if self.cluster is not None:
            return self.cluster.nodes
        return 1 if self.job is None else self.job.replicas

    def as_json(self) -> dict[str, Json]:
        return {
            "kind": self.kind,
            "shape": self.shape,
            "image": self.image,
            "disk_gib": self.disk_gib,
            "env": dict(self.env),
            "labels": dict(self.labels),
            "preemptible": self.preemptible,
            "job": None if self.job is None else self.job.as_json(),
            "cluster": None if self.cluster is None else self.cluster.as_json(),
        }


@dataclass(frozen=True, slots=True)
class ShapeFacts:
    """A sellable size. `price_per_hour` is exact, in the organisation's currency; None where it has no price.

    `times`: how many of it are meant together. Sizes and price are of one; what is asked, held and paid is of all.
    """

    slug: str
    label: str
    accelerator: str | None
    accelerator_count: int
    vcpus: int
    memory_gib: int
    region: str
    active: bool = True
    simulated: bool = False
    price_per_hour: Fraction | None = None
    capacity_kind: str = CapacityKind.ON_DEMAND
    times: int = 1

    @property
    def accelerators(self) -> int:
        return self.accelerator_count * self.times

    @property
    def whole_price(self) -> Fraction | None:
        """An hour of all of it."""
        return None if self.price_per_hour is None else self.price_per_hour * self.times

    def resources(self) -> dict[str, int]:
        """What a workload of this size occupies of a cluster, by resource name."""
        amounts = {"vcpus": self.vcpus * self.times, "memory_gib": self.memory_gib * self.times}
        if self.accelerator and self.accelerator_count:
            amounts[f"accelerators/{self.accelerator}"] = self.accelerators
        return amounts

    def claim(self, disk_gib: int) -> Claim:
        """What one running workload of this size takes of its project's quotas."""
        amounts = {**self.resources(), "workloads": 1, "storage_gib": disk_gib}
        if self.accelerator and self.accelerator_count:
            amounts["accelerators"] = self.accelerators
        return Claim(tuple(sorted(amounts.items())))


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """A cluster's whole capacity, what is occupied and what is out of service for now, by resource name."""

    id: UUID
    slug: str
    region: str
    capacity: Mapping[str, int]
    used: Mapping[str, int]
    driver: str = "local"
    healthy: bool = True
    """Takes new work at all."""
    standing: str = ClusterStanding.SERVING
    out_of_service: Mapping[str, int] = field(default_factory=dict)
    offers: frozenset[str] = frozenset()
    """What is installed on it: kuberay, kueue, …"""

    def schedulable(self, resource: str) -> int:
        return max(self.capacity.get(resource, 0) - self.out_of_service.get(resource, 0), 0)

    def free(self, resource: str) -> int:
        return max(self.schedulable(resource) - self.used.get(resource, 0), 0)


@dataclass(frozen=True, slots=True)
class Governed:
    """What policies look at beyond the shape. `image`: its reference. `lifetime`, `idle_after`: the installation's.

    `disk_per_hour`: what the disk adds to the shape's price.
    """

    rules: tuple[PolicyRule, ...] = ()
    data_class: str = ""
    image: str | None = None
    currency: str = ""
    disk_per_hour: Fraction = Fraction(0)
    labels: Mapping[str, str] = field(default_factory=dict)
    lifetime: timedelta | None = None
    idle_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Lender:
    """A place that waits for what it has lent of a resource."""

    resource: str
    level: str
    place: str


@dataclass(frozen=True, slots=True)
class Asked:
    """One launch as admission sees it: everything that a check reads, and nothing else."""

    project: str
    allowed: bool
    standing_good: bool
    image_active: bool
    shape: ShapeFacts
    disk_gib: int
    quotas: QuotaBook
    clusters: tuple[ClusterFacts, ...]
    others: tuple[ShapeFacts, ...] = ()
    priced: bool = True
    project_open: bool = True
    image_here: bool = True
    """Some cluster of the shape's region, if it has any, runs the image."""
    held: Claim = NOTHING
    """What the workload holds already (the disk of a stopped one)."""
    governed: Governed = Governed()
    starts_itself: bool = False
    """The platform starts what waited: its owner must still be allowed to."""
    lenders: tuple[Lender, ...] = ()
    """Who waits for what was lent: none of it is lent anew."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another shape that would start now; `difference_per_hour` is what it costs more (or less) than the one asked."""

    shape: ShapeFacts
    difference_per_hour: Fraction | None


@dataclass(frozen=True, slots=True)
class StopLimits:
    """Limits that policies set, where they are stricter than the installation's; and the names of those policies."""

    max_lifetime: timedelta | None = None
    lifetime_rule: str = ""
    idle_after: timedelta | None = None
    idle_rule: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reasons`: every failing check but approval. `waits`: why it would not start at once although it is admitted.

    `lent`: what of its own share others have borrowed; where nothing else is missing, it waits for that.
    `approvals`: why somebody must agree first, `deciders` how many, `asking` which rules say so. `warnings`: what rules
    in observation would have said.
    """

    reasons: tuple[Reason, ...]
    starts: Starts
    claim: Claim
    cluster_id: UUID | None = None
    waits: Reason | None = None
    alternatives: tuple[Alternative, ...] = ()
    approvals: tuple[Reason, ...] = ()
    deciders: int = 0
    asking: str = ""
    warnings: tuple[Reason, ...] = ()
    limits: StopLimits = StopLimits()
    lent: tuple[Reason, ...] = ()

    @property
    def denied(self) -> bool:
        return bool(self.reasons)

    @property
    def awaits(self) -> bool:
        """Whether approval is all that is missing."""
        return bool(self.approvals) and not self.reasons

    @property
    def failing(self) -> tuple[Reason, ...]:
        """Every failing check, the wish for approval too; what it would only wait for where something else fails."""
        return (*self.reasons, *(self.lent if self.reasons else ()), *self.approvals)


@dataclass(frozen=True, slots=True)
class Run:
    """One run as the driver tells it: its name, its real start, its real end (None while it goes on)."""

    incarnation: str
    started_at: datetime | None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A change to make. `to`: the states to pass through, the last one to stay in; empty: a wish or fact alone.

    `verb` goes to the audit chain, `message` to the timeline (empty: no line). `desired`: the wish it carries. `reason`
    None clears the reason, unless `keeps_reason`. `log`: the last lines of what failed. `sets`: other columns, which
    the audit event shows before and after.
    """

    verb: str
    message: str
    to: tuple[State, ...] = ()
    reason: Reason | None = None
    keeps_reason: bool = False
    desired: DesiredState | None = None
    ends_as: State | None = None
    run: Run | None = None
    log: tuple[str, ...] = ()
    sets: tuple[tuple[str, str | int | datetime | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Signals:
    """One reading of a workload's activity. Page views are not among the signals, and an open connection is no work."""

    at: datetime
    busy_kernels: int = 0
    busy_terminals: int = 0
    detached: int = 0
    connections: int = 0
    last_activity: datetime | None = None
    last_source: Source = Source.KERNEL


@dataclass(frozen=True, slots=True)
class LogOf:
    """Whose lines are asked for: of one attempt of a job, of one task of an array; neither: the newest."""

    attempt: int | None = None
    task: int | None = None


NEWEST = LogOf()


@dataclass(frozen=True, slots=True)
class StopRules:
    """What stops a workload by itself; None switches a rule off.

    `idle_rule`, `lifetime_rule`: the policies that set them, empty for the installation's own. A lifetime that a policy
    sets is final: nobody keeps a workload beyond it.
    """

    idle_after: timedelta | None
    max_lifetime: timedelta | None
    warn_before: timedelta
    idle_rule: str = ""
    lifetime_rule: str = ""


@dataclass(frozen=True, slots=True)
class Life:
    """What the rules look at: since when it runs, when it last worked and who says so, until when a person keeps it."""

    started_at: datetime
    last_activity_at: datetime
    last_source: Source = Source.START
    extended_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class StopForecast:
    """When a workload will stop by itself, by which rule, and from which last sign of work that follows.

    `policy`: who set that rule, empty for the installation's own.
    """

    will_stop_at: datetime | None
    rule: Rule | None
    last_activity_at: datetime
    source: Source
    policy: str = ""


@dataclass(frozen=True, slots=True)
class ReclaimVerdict:
    activity: Activity
    life: Life
    forecast: StopForecast
    stop: bool
    warn: bool


def workload_ref(workload_id: UUID | str, name: str = "") -> ObjectRef:
    return ObjectRef(kind="workload", id=str(workload_id), label=name)


def volume_ref(volume_id: UUID | str, name: str = "") -> ObjectRef:
    return ObjectRef(kind="volume", id=str(volume_id), label=name)
