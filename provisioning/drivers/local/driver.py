"""The local driver: workloads as supervised processes of this machine.

Two locks a workload. The *keeper's* is held by its keeper for the whole of its life, so a taken one
means that a run exists. The *driver's* is held by whoever decides (start, settle, remove); only
its holder may try the keeper's. A new keeper inherits the keeper's lock from the process that
starts it, so at no instant could a second one begin.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from errno import EDQUOT, ENOSPC, EROFS
from uuid import UUID

from provisioning.drivers.base import (
    ActivityReading,
    DriverUnavailable,
    Endpoint,
    LogPiece,
    Observation,
    Phase,
    ProbeFailed,
    Reason,
    RunSpec,
    Stray,
    VolumeInUse,
)
from provisioning.drivers.inside import PodsSeen
from provisioning.drivers.jobs import ArtifactRead, Artifacts
from provisioning.drivers.local import (
    activity,
    artifacts,
    inside,
    isolation,
    launch,
    logs,
    places,
    probe,
    procfs,
    record,
    strays,
    tasks,
)
from provisioning.drivers.local.config import LocalConfig
from provisioning.drivers.local.isolation import IsolationReport, LimitsReport
from provisioning.drivers.local.launch import CannotStart
from provisioning.drivers.local.record import Record

LOCK_STEP_S, WAIT_STEP_S = 0.005, 0.01
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FULL = (ENOSPC, EDQUOT)
DAY_US = 24 * 3600 * 1_000_000


class LocalDriver:
    """Offers WorkloadDriver, ReportsActivity, FollowsLogs, RunsArrays, TellsPods, KeepsArtifacts, KeepsVolumes,
    FindsStrays and StatesCaveats."""

    def __init__(self, config: LocalConfig) -> None:
        self.config = config

    def isolation(self) -> IsolationReport:
        return isolation.isolation_of(self.config)

    def limits(self) -> LimitsReport:
        return isolation.limits_of_machine()

    def caveats(self) -> tuple[str, ...]:
        apart, found = self.isolation(), self.limits()
        bounded = (("vCPU", found.vcpus), ("memory", found.memory), ("disk size", found.disk))
        free = ", ".join(name for name, so in bounded if not so)
        unbounded = (f"Not limited on this machine: {free}.",) if free else ()
        return (*(() if apart.isolated else (apart.sentence,)), *unbounded)

    def observe(self, spec: RunSpec) -> Observation:
        return self._with_tasks(spec, self._observed(spec.workload_id, self._settled(spec.workload_id)))

    def ensure_present(self, spec: RunSpec) -> Observation:
        known = self._settled(spec.workload_id)
        if known is None or self._may_start_after(known):
            try:
                self._start(spec)
            except CannotStart as refusal:
                return Observation(phase=Phase.FAILED, reason=refusal.reason)
        return self.observe(spec)

    def ensure_stopped(self, spec: RunSpec) -> Observation:
        known = self._end(spec.workload_id, signal.SIGTERM)
        if known is not None and known.ended and not known.acknowledged:
            known = self._acknowledge(spec.workload_id)
        return self._with_tasks(spec, self._observed(spec.workload_id, known))

    def ensure_absent(self, spec: RunSpec) -> Observation:
        known = self._end(spec.workload_id, signal.SIGTERM)
        if known is None or not known.ended:
            return self._observed(spec.workload_id, known)
        placed = places.places_of(spec.workload_id, self.config)
        with self._deciding(spec.workload_id):
            places.clear(placed)
            gone = replace(known, phase=record.ABSENT, acknowledged=True)
            self._write(spec.workload_id, gone)
        return self._observed(spec.workload_id, gone)

    def endpoint_of(self, spec: RunSpec) -> Endpoint | None:
        """The socket is in a folder of ours: its path cannot be bent by the workload."""
        placed = places.places_of(spec.workload_id, self.config)
        known = self._read(spec.workload_id)
        if known is None or known.task or known.ended or known.listening_at is None or not self._kept(known):
            return None
        return Endpoint(unix_socket=str(placed.socket))

    def logs(self, spec: RunSpec, *, tail: int) -> tuple[str, ...]:
        return logs.tail_of(places.places_of(spec.workload_id, self.config).log, lines=tail)

    def pods(self, spec: RunSpec) -> PodsSeen:
        known = self._read(spec.workload_id)
        alive = known is not None and not known.ended and self._kept(known)
        return inside.pods(known) if known is not None and alive else PodsSeen(())

    def task_log(self, spec: RunSpec, index: int, *, tail: int) -> tuple[str, ...]:
        return tasks.log_of(places.places_of(spec.workload_id, self.config).box, index, lines=tail)

    def artifacts(self, spec: RunSpec) -> Artifacts:
        return artifacts.found(places.volume_of(spec.project_id, spec.volume_id, self.config))

    def artifact(self, spec: RunSpec, path: str) -> ArtifactRead:
        return artifacts.read(places.volume_of(spec.project_id, spec.volume_id, self.config), path)

    def log_after(self, spec: RunSpec, mark: str, *, whole: bool) -> LogPiece:
        known = self._read(spec.workload_id)
        run = known.incarnation if known is not None else ""
        return logs.after(places.places_of(spec.workload_id, self.config).log, run, mark, whole=whole)

    def activity(self, spec: RunSpec, *, now: datetime) -> ActivityReading:
        known = self._read(spec.workload_id)
        if known is None or known.task or known.phase != record.RUNNING or not self._kept(known):
            raise ProbeFailed("the server is not running")
        placed = places.places_of(spec.workload_id, self.config)
        return activity.read(known, placed.socket, now=now, seconds=self.config.probe_s)

    def ensure_volume_absent(self, *, project_id: UUID, volume_id: UUID) -> None:
        for workload_id in self._recorded():
            known = self._settled(workload_id)
            if known is not None and not known.ended and known.volume == str(volume_id):
                raise VolumeInUse(f"volume {volume_id} is held by workload {workload_id}")
        volume = places.volume_of(project_id, volume_id, self.config)
        places.remove_volume(volume, self.config)

    def strays(self, known: Collection[UUID]) -> tuple[Stray, ...]:
        """What runs of this installation and is not among the known."""
        found: dict[UUID, Stray] = {}
        for workload_id in self._recorded():
            state = self._settled(workload_id)
            self._forget_if_old(workload_id, state)
            if workload_id not in known and state is not None and not state.ended:
                found[workload_id] = Stray(workload_id, (), _instant(state.started_at))
        for workload_id, processes in strays.marked(self.config.installation).items():
            if workload_id not in known:
                began = found[workload_id].started_at if workload_id in found else None
                pids = tuple(each.pid for each in processes)
                found[workload_id] = Stray(workload_id, pids, began)
        return tuple(found.values())

    def end_stray(self, stray: Stray) -> Observation:
        known = self._end(stray.workload_id, signal.SIGTERM)
        if known is None or known.ended:
            with self._deciding(stray.workload_id):
                strays.end(stray.workload_id, (), self.config.installation)
        return self._observed(stray.workload_id, known)

    def end_all(self, *, seconds: float) -> tuple[UUID, ...]:
        """The platform goes down: end every run, keep the wishes. The answer: those still there.

        Their observation is then STOPPED with the reason `platform_stopped` and the real end.
        """
        deadline = time.monotonic() + seconds
        left = self._recorded()
        for workload_id in left:
            self._ask(workload_id, signal.SIGHUP)
        while left := tuple(each for each in left if self._holds(each)):
            if time.monotonic() > deadline:
                break
            time.sleep(WAIT_STEP_S)
        return left

    def _start(self, spec: RunSpec) -> None:
        """Under the driver's lock, with the keeper's in hand, after ending whatever was left."""
        placed = places.places_of(spec.workload_id, self.config)
        try:
            passable = self.isolation().kind == "uid"
            places.make_ours(placed, self.config, passable=passable)
            with self._deciding(spec.workload_id):
                self._start_alone(spec)
        except OSError as error:
            raise CannotStart(*_what_went_wrong(error, self.config)) from error

    def _start_alone(self, spec: RunSpec) -> None:
        placed = places.places_of(spec.workload_id, self.config)
        lock = self._keepers_lock(spec.workload_id)
        if lock is None:
            return
        try:
            known = self._settle(spec.workload_id)
            if known is not None and not self._may_start_after(known):
                return
            strays.end(spec.workload_id, (), self.config.installation)
            record.forget_asked(str(placed.run))
            first = launch.new_record(spec)
            record.write(str(placed.run), first)
            try:
                image = launch.image_of(spec, self.config)
                told = launch.launch(spec, image, first, lock, self.config)
                if told and self._read(spec.workload_id) == first:
                    raise CannotStart("start_failed", "The server's keeper could not start.")
            except CannotStart as refusal:
                self._record_refusal(spec.workload_id, first, refusal.reason)
            except OSError as error:
                reason = Reason(*_what_went_wrong(error, self.config))
                self._record_refusal(spec.workload_id, first, reason)
        finally:
            os.close(lock)  # never unlocked: a keeper may hold it now

    def _keepers_lock(self, workload_id: UUID) -> int | None:
        """None where a run exists. A keeper that has recorded its end is waited for: it goes."""
        path = str(places.places_of(workload_id, self.config).run / record.KEEPER_LOCK)
        deadline = time.monotonic() + self.config.lock_s
        while (lock := record.try_lock(path)) is None:
            known = self._read(workload_id)
            if known is None or not known.ended:
                return None
            if time.monotonic() > deadline:
                raise DriverUnavailable("the keeper of the last run does not end")
            time.sleep(LOCK_STEP_S)
        return lock

    def _record_refusal(self, workload_id: UUID, first: Record, reason: Reason) -> None:
        refused = replace(first, phase=record.FAILED, reason_code=reason.code, reason_message=reason.message)
        record.write(str(places.places_of(workload_id, self.config).run), refused)

    def _end(self, workload_id: UUID, number: int) -> Record | None:
        """Ask, wait a moment, and past grace and farewell end by force."""
        known = self._settled(workload_id)
        if known is None or known.ended:
            return known
        self._ask(workload_id, number)
        deadline = time.monotonic() + self.config.prompt_s
        while time.monotonic() < deadline:
            time.sleep(WAIT_STEP_S)
            known = self._settled(workload_id)
            if known is None or known.ended:
                break
        return known

    def _ask(self, workload_id: UUID, number: int) -> None:
        """Ask the keeper. One that has not ended everything long after its grace is hung."""
        known = self._read(workload_id)
        if known is None or known.ended or known.keeper_pid is None or not self._kept(known):
            return
        run = str(places.places_of(workload_id, self.config).run)
        patience = self.config.grace_s + self.config.farewell_s + self.config.hung_s
        if record.seconds_since_asked(run) > patience:
            number = signal.SIGKILL
        elif known.phase == record.STOPPING:
            return
        keeper = procfs.process(known.keeper_pid)
        if keeper is not None and keeper.start_ticks == known.keeper_ticks:
            procfs.send(number, [keeper])

    def _forget_if_old(self, workload_id: UUID, known: Record | None) -> None:
        if known is None or known.phase != record.ABSENT:
            return
        age = record.now_us() - (known.ended_at or 0)
        if age > self.config.forget_after_days * DAY_US:
            places.forget(places.places_of(workload_id, self.config))

    def _acknowledge(self, workload_id: UUID) -> Record | None:
        with self._deciding(workload_id):
            known = self._read(workload_id)
            if known is not None and known.ended and not known.acknowledged:
                known = replace(known, acknowledged=True)
                self._write(workload_id, known)
            return known

    def _may_start_after(self, known: Record) -> bool:
        return known.ended and known.acknowledged

    def _settled(self, workload_id: UUID) -> Record | None:
        """The record, made true where its keeper is gone without having recorded the end."""
        known = self._read(workload_id)
        if known is None or known.ended or self._kept(known):
            return known
        placed = places.places_of(workload_id, self.config)
        with self._deciding(workload_id):
            lock = record.try_lock(str(placed.run / record.KEEPER_LOCK))
            if lock is None:
                return self._read(workload_id)
            try:
                return self._settle(workload_id)
            finally:
                os.close(lock)

    def _settle(self, workload_id: UUID) -> Record | None:
        """With both locks in hand: no keeper lives. End what it left and record the end."""
        placed = places.places_of(workload_id, self.config)
        known = self._read(workload_id)
        if known is None or known.ended:
            return known
        settled = strays.settle(workload_id, known, placed, self.config.installation)
        self._write(workload_id, settled)
        return settled

    def _kept(self, known: Record) -> bool:
        same_boot = known.boot == procfs.boot_id()
        return same_boot and procfs.is_same(known.keeper_pid, known.keeper_ticks)

    def _holds(self, workload_id: UUID) -> bool:
        known = self._settled(workload_id)
        return known is not None and not known.ended

    def _read(self, workload_id: UUID) -> Record | None:
        if not places.are_ours(self.config):
            return None
        return record.read(str(places.places_of(workload_id, self.config).run))

    def _write(self, workload_id: UUID, known: Record) -> None:
        try:
            record.write(str(places.places_of(workload_id, self.config).run), known)
        except OSError as error:
            raise DriverUnavailable(f"the record cannot be written: {error}") from error

    def _recorded(self) -> tuple[UUID, ...]:
        if not places.are_ours(self.config):
            return ()
        return tuple(UUID(hex=entry.name) for entry in self.config.run_dir.iterdir())

    @contextmanager
    def _deciding(self, workload_id: UUID) -> Iterator[None]:
        """Hold the driver's lock. It is held for parts of a second."""
        placed = places.places_of(workload_id, self.config)
        placed.run.mkdir(mode=0o700, parents=True, exist_ok=True)
        deadline = time.monotonic() + self.config.lock_s
        while (lock := record.try_lock(str(placed.run / record.DRIVER_LOCK))) is None:
            if time.monotonic() > deadline:
                raise DriverUnavailable("another process is deciding about this workload")
            time.sleep(LOCK_STEP_S)
        try:
            yield
        finally:
            record.unlock(lock)

    def _observed(self, workload_id: UUID, known: Record | None) -> Observation:
        if known is None:
            return Observation(phase=Phase.ABSENT)
        placed = places.places_of(workload_id, self.config)
        phase = Phase(known.phase)
        running, failed = phase is Phase.RUNNING, phase is Phase.FAILED
        reason = None
        if known.reason_code is not None:
            reason = Reason(known.reason_code, known.reason_message or "")
        return Observation(
            phase=phase,
            started_at=_instant(known.started_at),
            ended_at=_instant(known.ended_at),
            ready=running and (known.task or probe.answers(placed.socket, seconds=self.config.probe_s)),
            reason=reason,
            log_tail=logs.tail_of(placed.log, lines=self.config.tail_lines) if failed else (),
            incarnation=known.incarnation,
            exit_code=_exit_code(known),
        )

    def _with_tasks(self, spec: RunSpec, seen: Observation) -> Observation:
        if spec.array is None or seen.phase is Phase.ABSENT:
            return seen
        box = places.places_of(spec.workload_id, self.config).box
        return replace(seen, tasks=tasks.seen(box, spec.array))


def _exit_code(known: Record) -> int | None:
    """Of a command that ended by itself, as a shell would tell it."""
    by_itself = known.task and known.phase in (record.SUCCEEDED, record.FAILED)
    if not by_itself or known.exit_code is None:
        return None
    return known.exit_code if known.exit_code >= 0 else 128 - known.exit_code


def _instant(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else EPOCH + timedelta(microseconds=microseconds)


def _what_went_wrong(error: OSError, config: LocalConfig) -> tuple[str, str]:
    where = error.filename or config.state_dir
    if error.errno in FULL:
        return "disk_full", f"The disk that holds {where} is full."
    if error.errno == EROFS or isinstance(error, PermissionError):
        return "disk_not_writable", f"{where} cannot be written: {error.strerror or error}."
    return "start_failed", f"The workload could not be prepared: {error}."
