"""The one file that says what became of a workload. Standard library only.

It is replaced as a whole (write aside, rename), so a reader sees the old or the new state. The
keeper writes it while it lives; the driver writes it only while it holds both locks. Its
modification time is the keeper's heartbeat: the last instant at which the keeper was certain.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from dataclasses import asdict, dataclass, replace

STARTING, RUNNING, STOPPING = "starting", "running", "stopping"
STOPPED, SUCCEEDED, FAILED, ABSENT = "stopped", "succeeded", "failed", "absent"
ENDED = frozenset({STOPPED, SUCCEEDED, FAILED, ABSENT})

RECORD, LOG, SOCKET = "record.json", "log", "s"
ASKED = "asked"
DRIVER_LOCK, KEEPER_LOCK = "driver.lock", "keeper.lock"


@dataclass(frozen=True, slots=True)
class Record:
    """Instants are UTC microseconds. A process is known by boot, pid and start ticks. `task`: it runs a command to its
    end; nothing of it listens."""

    phase: str
    incarnation: str
    boot: str
    project: str
    volume: str
    image: str
    keeper_pid: int | None = None
    keeper_ticks: int | None = None
    child_pid: int | None = None
    wrappers: int = 0
    cgroups: tuple[str, ...] = ()
    started_at: int | None = None
    listening_at: int | None = None
    ended_at: int | None = None
    exit_code: int | None = None
    reason_code: str | None = None
    reason_message: str | None = None
    acknowledged: bool = False
    task: bool = False

    @property
    def ended(self) -> bool:
        return self.phase in ENDED


def now_us() -> int:
    return time.time_ns() // 1000


def read(directory: str) -> Record | None:
    try:
        with open(os.path.join(directory, RECORD), encoding="utf-8") as file:
            content = json.load(file)
    except FileNotFoundError:
        return None
    content["cgroups"] = tuple(content["cgroups"])
    return Record(**content)


def write(directory: str, record: Record) -> None:
    """Replace the record as a whole. Raises OSError (a full or read-only disk)."""
    path = os.path.join(directory, RECORD)
    aside = f"{path}.{os.getpid()}"
    try:
        with open(aside, "w", encoding="utf-8") as file:
            json.dump(asdict(record), file)
        os.replace(aside, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


def beat(directory: str) -> None:
    with contextlib.suppress(OSError):
        os.utime(os.path.join(directory, RECORD))


def last_beat(directory: str) -> int | None:
    try:
        return os.stat(os.path.join(directory, RECORD)).st_mtime_ns // 1000
    except OSError:
        return None


def seconds_since_asked(directory: str) -> float:
    """Notes the first time that the end was asked for, by a clock nobody sets."""
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    path = os.path.join(directory, ASKED)
    try:
        with open(path, "x") as file:
            file.write(repr(now))
    except FileExistsError:
        with open(path) as file:
            return now - float(file.read() or now)
    except OSError:
        return 0.0  # a full disk must not keep anybody from ending it
    return 0.0


def forget_asked(directory: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(directory, ASKED))


def ended(record: Record, *, phase: str, at: int, code: str | None, message: str | None) -> Record:
    """The record of an end. It never lies before the start; a run that never started has no end."""
    end = None if record.started_at is None else max(at, record.started_at)
    return replace(record, phase=phase, ended_at=end, reason_code=code, reason_message=message)


def try_lock(path: str) -> int | None:
    """The descriptor that holds the lock, or None where another one holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def unlock(descriptor: int) -> None:
    """Free it even where a fork has copied the descriptor meanwhile."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
