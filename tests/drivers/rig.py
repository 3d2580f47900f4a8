"""What a driver's tests need: specs, patience, and a look at the real processes."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar
from uuid import UUID, uuid4

from provisioning.drivers.base import (
    FindsStrays,
    KeepsVolumes,
    Observation,
    Phase,
    ReportsActivity,
    RunSpec,
    Stray,
    WorkloadDriver,
)
from provisioning.drivers.jobs import ArrayRun
from provisioning.drivers.local import places, procfs, record, strays
from provisioning.drivers.local.config import LocalConfig, LocalImage
from provisioning.drivers.local.driver import LocalDriver
from provisioning.drivers.local.launch import MARKER

HERE = Path(__file__).resolve().parent
SETTLED = (Phase.STOPPED, Phase.SUCCEEDED, Phase.FAILED, Phase.ABSENT)
T = TypeVar("T")


def stand_in() -> LocalImage:
    """The tiny server, run by this Python without its packages."""
    python = Path(sys.executable).resolve()
    script = str(HERE / "stand_in.py")
    return LocalImage(
        command=(str(python), "-S", "-E", script, "{socket}", "{home}"),
        readable=(HERE, python.parent.parent),
    )


def config_in(state_dir: Path, *, isolation: str | None = None) -> LocalConfig:
    """Short times, so that a fault costs a moment."""
    return LocalConfig(
        state_dir=state_dir / "state",
        images={"stand-in": stand_in()},
        grace_s=1.0,
        farewell_s=0.5,
        heartbeat_s=0.1,
        hung_s=0.5,
        retry_s=0.1,
        isolation=isolation,
    )


def a_spec(**changes: object) -> RunSpec:
    plain = RunSpec(
        workload_id=uuid4(),
        organization_id=uuid4(),
        project_id=uuid4(),
        volume_id=uuid4(),
        kind="workspace",
        image="stand-in",
        vcpus=1,
        memory_gib=1,
        disk_gib=1,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def until(ask: Callable[[], T], holds: Callable[[T], object], *, seconds: float = 90.0) -> T:
    """The first answer for which it holds, of whom is asked ever less often: who waits must not be a load."""
    began = time.monotonic()
    while True:
        answer = ask()
        if holds(answer):
            return answer
        waited = time.monotonic() - began
        if waited > seconds:
            raise AssertionError(f"waited {seconds} s, last answer: {answer!r}")
        time.sleep(min(max(waited / 10, 0.01), 0.25))


class Offered(WorkloadDriver, ReportsActivity, KeepsVolumes, FindsStrays, Protocol):
    """What the contract asks of a driver."""


class Rig(Protocol):
    """A driver, and the means to see and to spoil what it runs."""

    @property
    def driver(self) -> Offered: ...

    def now(self) -> datetime:
        """As finely as the driver's instants are told."""
        ...

    def bound(self, spec: RunSpec) -> Observation:
        """Asked to be present, and capacity is bound."""
        ...

    def started(self, spec: RunSpec) -> Observation: ...

    def stopped(self, spec: RunSpec) -> Observation: ...

    def over(self, spec: RunSpec) -> Observation:
        """Asked to be present, and it has come to its end."""
        ...

    def failed(self, spec: RunSpec) -> Observation: ...

    def absent(self, spec: RunSpec) -> Observation: ...

    def until_ended(self, stray: Stray) -> Observation: ...

    def held(self, spec: RunSpec) -> Sequence[object]:
        """What runs of it: processes, pods."""
        ...

    def keeps_volume(self, spec: RunSpec) -> bool: ...

    def doom(self, spec: RunSpec) -> None:
        """Its next start says two lines and ends with 3."""
        ...

    def spare(self, spec: RunSpec) -> None: ...

    def job(self, *, exit_code: int | None = None) -> RunSpec:
        """A job that says two lines and ends with that code; None: it goes on."""
        ...


@dataclass
class LocalRig:
    driver: LocalDriver

    @property
    def config(self) -> LocalConfig:
        return self.driver.config

    def home(self, spec: RunSpec) -> Path:
        home = places.volume_of(spec.project_id, spec.volume_id, self.config)
        home.mkdir(parents=True, exist_ok=True)
        return home

    def now(self) -> datetime:
        return datetime.now(UTC)

    def bound(self, spec: RunSpec) -> Observation:
        return self.driver.ensure_present(spec)

    def held(self, spec: RunSpec) -> list[int]:
        return self.processes(spec)

    def keeps_volume(self, spec: RunSpec) -> bool:
        return places.volume_of(spec.project_id, spec.volume_id, self.config).exists()

    def doom(self, spec: RunSpec) -> None:
        (self.home(spec) / "crash").touch()

    def spare(self, spec: RunSpec) -> None:
        (self.home(spec) / "crash").unlink()

    def job(self, *, exit_code: int | None = None, workers: int = 1) -> RunSpec:
        said = "echo the engine is cold; echo the last word"
        return a_spec(
            kind="job",
            command=("sh", "-c", f"{said}; exit {exit_code}" if exit_code is not None else "sleep 60"),
            workers=workers,
        )

    def array(self, script: str, run: ArrayRun, *, at_once: int = 1) -> RunSpec:
        """Each task runs the script, in a shell."""
        return a_spec(kind="job", command=("sh", "-c", script), workers=at_once, array=run)

    def started(self, spec: RunSpec, *, seconds: float = 15.0) -> Observation:
        """Present and ready; fails at once where it failed."""
        self.driver.ensure_present(spec)
        seen = until(
            lambda: self.driver.observe(spec),
            lambda o: o.ready or o.phase in SETTLED,
            seconds=seconds,
        )
        assert seen.ready, seen
        return seen

    def stopped(self, spec: RunSpec) -> Observation:
        return until(lambda: self.driver.ensure_stopped(spec), lambda o: o.phase in SETTLED)

    def failed(self, spec: RunSpec) -> Observation:
        self.driver.ensure_present(spec)
        return until(lambda: self.driver.observe(spec), lambda o: o.phase is Phase.FAILED)

    def over(self, spec: RunSpec) -> Observation:
        self.driver.ensure_present(spec)
        return until(lambda: self.driver.observe(spec), lambda o: o.phase in SETTLED)

    def until_ended(self, stray: Stray) -> Observation:
        return until(lambda: self.driver.end_stray(stray), lambda o: o.phase in SETTLED)

    def absent(self, spec: RunSpec) -> Observation:
        return until(lambda: self.driver.ensure_absent(spec), lambda o: o.phase is Phase.ABSENT)

    def processes(self, spec: RunSpec) -> list[int]:
        return [each.pid for each in procfs.marked_with(f"{MARKER}={spec.workload_id}")]

    def record(self, spec: RunSpec) -> record.Record:
        found = record.read(str(places.places_of(spec.workload_id, self.config).run))
        assert found is not None
        return found

    def keeper(self, spec: RunSpec) -> int:
        pid = self.record(spec).keeper_pid
        assert pid is not None
        return pid

    def output(self, spec: RunSpec, command: str) -> str:
        """What a command prints when it is run inside the workload."""
        home = self.home(spec)
        (home / "command").write_text(f"({command}) >$HOME/out 2>&1; mv $HOME/out $HOME/output")
        self.started(spec)
        until((home / "output").exists, bool)
        return (home / "output").read_text()

    def end_everything(self) -> None:
        self.driver.end_all(seconds=5)
        for workload_id, left in strays.marked(self.config.installation).items():
            procfs.kill_and_wait(left, seconds=5)
            assert isinstance(workload_id, UUID)
        if not self.config.run_dir.is_relative_to(self.config.state_dir.resolve()):
            shutil.rmtree(self.config.run_dir, ignore_errors=True)


def environment_of(pid: int) -> dict[str, str]:
    text = Path(f"/proc/{pid}/environ").read_bytes().decode()
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)
