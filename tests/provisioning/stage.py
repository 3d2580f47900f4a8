"""A small cloud for tests: a catalogue with prices, a clock, and a driver that is told what to say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from core import scope
from provisioning.drivers.base import (
    ActivityReading,
    DriverUnavailable,
    Endpoint,
    Observation,
    Phase,
    ProbeFailed,
    Reason,
    RunSpec,
    Stray,
    TaskSeen,
)
from provisioning.drivers.inside import Happening, PodSeen, PodsSeen
from provisioning.models import Workload
from provisioning.reconciler import reconcile
from provisioning.services import launching
from provisioning.services.catalogue import (
    AcceleratorOffer,
    ClusterOffer,
    ImageOffer,
    Offer,
    ShapeOffer,
    publish_offer,
)
from provisioning.types import WorkloadSpec
from tests import house
from tests.billing.shop import DISK, H100, sell

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
CPU = "vcpu-hour/standard"


def open_shop(*, h100: int = 8, vcpus: int = 512, memory_gib: int = 8192) -> None:
    """One region, one cluster, four shapes with prices in USD."""
    for code, price, unit in ((H100, "2.95", "hour"), (CPU, "0.0248", "hour"), (DISK, "0.0001", "gib_hour")):
        sell(code, (price, LONG_AGO), unit=unit)
    gpu = [("h100-1", 1), ("h100-4", 4), ("h100-8", 8)]
    offer = Offer(
        region="here",
        region_label="Here",
        clusters=(ClusterOffer("local", "This machine", "local", True, (("H100", h100),), vcpus, memory_gib),),
        accelerators=(AcceleratorOffer("H100", "NVIDIA", 80),),
        shapes=(
            ShapeOffer("cpu-4", "4 vCPU", None, 0, 4, 16, CPU, 4),
            *(ShapeOffer(slug, f"{n} H100", "H100", n, 16 * n, 200 * n, H100, n) for slug, n in gpu),
        ),
        images=(ImageOffer("jupyterlab", "JupyterLab", "jupyterlab"),),
    )
    with house.an_act(), scope.of_platform():
        publish_offer(actor=house.SYSTEM, offer=offer, now=LONG_AGO)


def offer_shape(shape: ShapeOffer) -> None:
    """One more size in the same region."""
    offer = Offer(region="here", region_label="Here", clusters=(), accelerators=(), shapes=(shape,), images=())
    with house.an_act(), scope.of_platform():
        publish_offer(actor=house.SYSTEM, offer=offer, now=LONG_AGO)


@dataclass
class Clock:
    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **words: float) -> datetime:
        self.now += timedelta(**words)
        return self.now


@dataclass
class Machine:
    """An honest driver in memory: it keeps the contract of drivers/base, on the test's clock.

    `down`: it does not answer. `stays`: what is asked to end goes on. `up_after`: how long a start takes.
    """

    clock: Clock
    up_after: timedelta = timedelta(0)
    down: bool = False
    stays: bool = False
    refuses: Reason | None = None
    runs: dict[UUID, Observation] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    starts: int = 0
    acknowledged: set[UUID] = field(default_factory=set)
    reading: ActivityReading | None = None
    meanwhile: Callable[[str], None] = lambda _: None
    removed_volumes: list[UUID] = field(default_factory=list)
    tasks: dict[UUID, dict[int, TaskSeen]] = field(default_factory=dict)
    asked: list[RunSpec] = field(default_factory=list)
    waits: dict[UUID, Reason] = field(default_factory=dict)

    def observe(self, spec: RunSpec) -> Observation:
        self._called("observe")
        return self._seen(spec.workload_id)

    def ensure_present(self, spec: RunSpec) -> Observation:
        self._called("present")
        known = self.runs.get(spec.workload_id)
        if self.refuses is not None:
            return Observation(Phase.FAILED, reason=self.refuses)
        if known is None or (known.ended_at is not None and spec.workload_id in self.acknowledged):
            self.starts += 1
            self.asked.append(spec)
            self.tasks.pop(spec.workload_id, None)
            self.acknowledged.discard(spec.workload_id)
            self.runs[spec.workload_id] = Observation(
                Phase.STARTING, started_at=self.clock.now, incarnation=f"run-{self.starts}"
            )
        return self._seen(spec.workload_id)

    def ensure_stopped(self, spec: RunSpec) -> Observation:
        self._called("stop")
        return self._end(spec.workload_id, Phase.STOPPED)

    def ensure_absent(self, spec: RunSpec) -> Observation:
        self._called("absent")
        return self._end(spec.workload_id, Phase.ABSENT)

    def endpoint_of(self, spec: RunSpec) -> Endpoint | None:
        self._answers()
        return Endpoint(unix_socket=f"/run/{spec.workload_id}") if self.living(spec.workload_id) else None

    def logs(self, spec: RunSpec, *, tail: int) -> tuple[str, ...]:
        return ("line",)[:tail]

    def pods(self, spec: RunSpec) -> PodsSeen:
        living = self.living(spec.workload_id)
        pod = PodSeen("pod-<1>", "worker 0", "node-1", "running", cpu_milli=1500, memory_bytes=2**30)
        return PodsSeen((pod,) * living)

    def happenings(self, spec: RunSpec) -> tuple[Happening, ...]:
        known = self.runs.get(spec.workload_id)
        said = "The image is <there>."
        return (Happening(f"{known.incarnation}", self.clock.now, "Pod pod-1", "Pulled", said),) if known else ()

    def task_log(self, spec: RunSpec, index: int, *, tail: int) -> tuple[str, ...]:
        return (f"task {index}",)[:tail]

    def activity(self, spec: RunSpec, *, now: datetime) -> ActivityReading:
        if self.reading is None:
            raise ProbeFailed("nobody answers")
        return self.reading

    def ensure_volume_absent(self, *, project_id: UUID, volume_id: UUID) -> None:
        self.removed_volumes.append(volume_id)

    def strays(self, known) -> tuple[Stray, ...]:
        self._answers()
        return tuple(Stray(each, (), None) for each in self.runs if self.living(each) and each not in known)

    def end_stray(self, stray: Stray) -> Observation:
        return self._end(stray.workload_id, Phase.STOPPED)

    def crash(self, workload_id: UUID, *, code: str = "exited", phase: Phase = Phase.FAILED) -> None:
        known = self._seen(workload_id)
        self.runs[workload_id] = replace(
            known,
            phase=phase,
            ready=False,
            ended_at=self.clock.now,
            reason=Reason(code, "It exited with status 1."),
            log_tail=("Traceback", "MemoryError"),
        )

    def ends(self, workload_id: UUID, exit_code: int) -> None:
        """A job's command comes to its end."""
        phase, code = (Phase.SUCCEEDED, None) if exit_code == 0 else (Phase.FAILED, "command_failed")
        self.crash(workload_id, code=code or "", phase=phase)
        known = self.runs[workload_id]
        self.runs[workload_id] = replace(known, exit_code=exit_code, reason=known.reason if code else None)

    def task(
        self, workload_id: UUID, index: int, phase: Phase, exit_code: int | None = None, failures: int = 0
    ) -> None:
        """One task of an array is so from now on."""
        ended = self.clock.now if phase in (Phase.SUCCEEDED, Phase.FAILED, Phase.STOPPED) else None
        known = self.tasks.setdefault(workload_id, {})
        began = known[index].started_at if index in known else self.clock.now
        known[index] = TaskSeen(index, phase, began, ended, exit_code, failures)

    def living(self, workload_id: UUID) -> bool:
        known = self.runs.get(workload_id)
        return known is not None and known.ended_at is None

    def _called(self, name: str) -> None:
        self.calls.append(name)
        self.meanwhile(name)
        self._answers()

    def _answers(self) -> None:
        if self.down:
            raise DriverUnavailable("no route to host")

    def _seen(self, workload_id: UUID) -> Observation:
        known = self.runs.get(workload_id, Observation(Phase.ABSENT))
        if known.phase is Phase.STARTING and known.started_at and self.clock.now - known.started_at >= self.up_after:
            known = self.runs[workload_id] = replace(known, phase=Phase.RUNNING, ready=True)
        if known.phase is Phase.STARTING and workload_id in self.waits:
            known = replace(known, reason=self.waits[workload_id])
        told = self.tasks.get(workload_id, {})
        return replace(known, tasks=tuple(told[index] for index in sorted(told)))

    def _end(self, workload_id: UUID, phase: Phase) -> Observation:
        known = self.runs.get(workload_id)
        if known is None:
            return Observation(Phase.ABSENT)
        if self.stays and known.ended_at is None:
            return replace(known, phase=Phase.STOPPING)
        self.acknowledged.add(workload_id)
        ended = known.ended_at or self.clock.now
        self.runs[workload_id] = replace(known, phase=phase, ready=False, ended_at=ended)
        return self.runs[workload_id]


def spec(shape: str = "h100-1", **changes) -> WorkloadSpec:
    return replace(WorkloadSpec(kind="workspace", shape=shape, image="jupyterlab", disk_gib=10), **changes)


def launch(tenant, name="alice", *, project="vision", now=NOON, request_key="", **changes) -> Workload:
    with house.an_act(), tenant.scope():
        return launching.launch(
            actor=tenant.actor(name),
            project=tenant.projects[project],
            spec=spec(**changes),
            now=now,
            request_key=request_key,
        )


def turn(tenant, workload, machine: Machine, clock: Clock) -> int:
    """Reconcile until it is no longer due."""
    return reconcile(
        organization_id=tenant.organization.pk, workload_id=workload.pk, drivers=lambda _: machine, clock=clock
    )


def settle(tenant, workload, machine: Machine, clock: Clock, *, seconds: int = 10) -> Workload:
    """Turn once a second for a while; returns the row."""
    for _ in range(seconds):
        turn(tenant, workload, machine, clock)
        clock.pass_(seconds=1)
    return fresh(tenant, workload)


def fresh(tenant, workload) -> Workload:
    with tenant.scope():
        return Workload.objects.select_related("volume", "cluster").get(pk=workload.pk)


def wish(tenant, person, service, workload, now, **more):
    """One act of a person on a workload."""
    with house.an_act(), tenant.scope():
        return service(actor=tenant.actor(person), workload_id=workload.pk, now=now, **more)


def why(workload: Workload) -> str:
    """The code of a workload's reason."""
    return workload.reason["code"] if workload.reason else ""
