"""One supervised child process: a session of its own, a log of its own, a record by which a later start can find it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from portal.up.accounts import Identity
from portal.up.processes import end_with_parent

_FIRST_DELAY = 0.2
_LONGEST_DELAY = 5.0
_STEADY_SECONDS = 10.0
_LOG_LIMIT = 20 * 2**20


@dataclass(frozen=True, slots=True)
class Spec:
    """What to run. `polite` asks it to end; after `patience` seconds its whole process group is killed."""

    name: str
    words: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    polite: signal.Signals = signal.SIGTERM
    patience: float = 10.0
    identity: Identity = field(default_factory=Identity)


class Child:
    """Exit codes arrive through `ended`: the supervisor reaps all children of this process in one place."""

    def __init__(self, spec: Spec, *, logs: Path, records: Path) -> None:
        self.spec = spec
        self.log = logs / f"{spec.name}.log"
        self.pid: int | None = None
        self.exit_code: int | None = None
        self.failed_starts = 0
        self.due_at = 0.0
        self._record = records / f"{spec.name}.json"
        self._log_start = 0
        self._started_at = 0.0
        self._delay = _FIRST_DELAY

    @property
    def runs(self) -> bool:
        return self.pid is not None

    def start(self) -> None:
        self.trim_log()
        with self.log.open("ab") as output:
            self._log_start = output.tell()
            process = subprocess.Popen(
                self.spec.words,
                env=dict(self.spec.environment),
                cwd=self.spec.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=end_with_parent(self.spec.polite),  # noqa: PLW1509 (two system calls, no lock; we have one thread)
                **self.spec.identity,
            )
        process.returncode = 0  # We reap it ourselves: keeps Popen from waiting and from warning.
        self.pid, self.exit_code, self._started_at = process.pid, None, time.monotonic()
        self._write_record(process.pid)

    def ended(self, exit_code: int) -> None:
        """Take note of the end, clear what it left in its group, and set when it is due again."""
        self.kill_group()
        self.pid, self.exit_code = None, exit_code
        self._record.unlink(missing_ok=True)
        if time.monotonic() - self._started_at >= _STEADY_SECONDS:
            self.failed_starts, self._delay = 0, _FIRST_DELAY
        elif exit_code >= 0:
            self.failed_starts += 1
        self.due_at = time.monotonic() + self._delay
        self._delay = min(2 * self._delay, _LONGEST_DELAY)

    def ask_to_end(self) -> None:
        if self.pid is not None:
            _signal(os.kill, self.pid, self.spec.polite)

    def kill_group(self) -> None:
        """The group outlives its leader, and no new process can get its number while it does."""
        if self.pid is not None:
            _signal(os.killpg, self.pid, signal.SIGKILL)

    def last_lines(self, count: int = 3) -> str:
        """For one line at the terminal."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - 8192))
                lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
        except OSError:
            lines = []
        telling = [line for line in lines if line and not line.startswith(('File "', "^", "~"))]
        return " / ".join(telling[-count:]) or "nothing in its log"

    def said(self, words: str) -> bool:
        """Whether its log holds these words since the last start."""
        with self.log.open("rb") as file:
            file.seek(self._log_start)
            return words.encode() in file.read()

    def trim_log(self) -> None:
        """Keep one older part. The child appends, so that emptying the file under it is safe."""
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT:
            with suppress(OSError):  # On a full disk the older part is what there is no room for.
                shutil.copyfile(self.log, self.log.with_suffix(".log.1"))
            os.truncate(self.log, 0)

    def _write_record(self, pid: int) -> None:
        try:
            started = psutil.Process(pid).create_time()
        except psutil.NoSuchProcess:
            return
        with suppress(OSError):  # On a full disk: its mark in the environment finds it as well.
            self._record.write_text(json.dumps({"pid": pid, "started": started}))


def _signal(send: Callable[[int, int], None], pid: int, number: signal.Signals) -> None:
    try:
        send(pid, number)
    except (ProcessLookupError, PermissionError):
        return
