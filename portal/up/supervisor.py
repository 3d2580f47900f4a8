"""Keeps children running, and ends them in order. One thread; every wait listens for the signals to stop."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType

from portal.up.child import Child, Spec
from portal.up.errors import CannotStart
from portal.up.processes import adopt_orphans
from portal.up.state import State

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FAILED_STARTS_ALLOWED = 3
_TICK_SECONDS = 0.25
_HURRY_AFTER_SECONDS = 1.0
_HOUSEKEEPING_SECONDS = 30.0


class StopRequested(Exception):
    """Somebody pressed Ctrl-C, or asked by a signal."""


class Supervisor:
    """As a context manager: leaving it ends every child that is still there, newest first, and restores the signals."""

    def __init__(self, state: State, say: Callable[[str], None]) -> None:
        self._state = state
        self._say = say
        self._children: dict[str, Child] = {}
        self._by_pid: dict[int, Child] = {}
        self._restarted: set[str] = set()
        self._stop_asked_at: float | None = None
        self._in_hurry = False
        self._stopping = False
        self._cleaned_at = time.monotonic()
        self._wake, self._waker = socket.socketpair()

    def __enter__(self) -> Supervisor:
        adopt_orphans()
        for end in (self._wake, self._waker):
            end.setblocking(False)
        self._previous = {number: signal.signal(number, self._on_stop) for number in _STOP_SIGNALS}
        self._previous[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _noted)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in reversed(list(self._children)):
            self.end([name])
        signal.set_wakeup_fd(-1)
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._wake.close()
        self._waker.close()

    def start(self, spec: Spec) -> Child:
        """Start it, and from now on start it again whenever it ends."""
        child = Child(spec, logs=self._state.logs, records=self._state.records)
        self._children[spec.name] = child
        self._launch(child)
        return child

    def run(self, spec: Spec, *, seconds: float) -> Child:
        """Run something to its end; `exit_code` tells how it went. Killed when it takes longer."""
        child = Child(spec, logs=self._state.logs, records=self._state.records)
        self._launch(child)
        deadline = time.monotonic() + seconds
        try:
            while child.runs and time.monotonic() < deadline:
                self._tick()
        finally:
            self._finish([child])
        return child

    def wait_for(self, what: str, ready: Callable[[], bool], *, seconds: float) -> None:
        """Returns when `ready` says so. Raises CannotStart when a child fails to start or time is up."""
        deadline = time.monotonic() + seconds
        while not ready():
            self._tick()
            if time.monotonic() > deadline:
                raise CannotStart(f"{what} did not become ready within {seconds:.0f} s: see {self._state.logs}")

    def keep(self, on_restart: Callable[[], None]) -> None:
        """Supervise until asked to stop. `on_restart` is called after children got new process numbers."""
        while True:
            self._tick()
            if self._restarted:
                self._restarted.clear()
                on_restart()
            if time.monotonic() - self._cleaned_at > _HOUSEKEEPING_SECONDS:
                self._cleaned_at = time.monotonic()
                for child in self._children.values():
                    child.trim_log()

    def end(self, names: Sequence[str]) -> None:
        """Ask these to end together, wait as long as each may take, kill the rest. They are not started again."""
        self._finish([self._children.pop(name) for name in names if name in self._children])

    def stopping(self) -> None:
        """From here on a signal does not interrupt; a second one, a second later, kills what still takes its time."""
        self._stopping = True

    def pids(self) -> dict[str, int]:
        return {name: child.pid for name, child in self._children.items() if child.pid is not None}

    def _finish(self, children: Sequence[Child]) -> None:
        asked_at = time.monotonic()
        for child in children:
            child.ask_to_end()
        while any(child.runs for child in children):
            for child in children:
                if self._in_hurry or time.monotonic() - asked_at > child.spec.patience:
                    child.kill_group()
            self._reap()
            self._sleep()

    def _tick(self) -> None:
        self._sleep()
        self._reap()
        if self._stop_asked_at is not None and not self._stopping:
            raise StopRequested
        for child in self._children.values():
            if child.failed_starts >= _FAILED_STARTS_ALLOWED:
                raise CannotStart(f"{child.spec.name} fails to start: {child.last_lines()} (log: {child.log})")
            if not child.runs and time.monotonic() >= child.due_at:
                self._say(f"{child.spec.name} ended ({_ending(child)}): started again")
                self._launch(child)
                self._restarted.add(child.spec.name)

    def _launch(self, child: Child) -> None:
        try:
            child.start()
        except OSError as error:
            raise CannotStart(f"{child.spec.name} cannot be started: {error.strerror} ({error.filename})") from error
        if child.pid is not None:
            self._by_pid[child.pid] = child

    def _reap(self) -> None:
        """Every child of ours that ended, orphans we adopted included."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            child = self._by_pid.pop(pid, None)
            if child is not None:
                child.ended(os.waitstatus_to_exitcode(status))

    def _sleep(self) -> None:
        if select.select([self._wake], [], [], _TICK_SECONDS)[0]:
            self._wake.recv(4096)

    def _on_stop(self, _number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._stop_asked_at is None:
            self._stop_asked_at = now
        elif now - self._stop_asked_at > _HURRY_AFTER_SECONDS:
            self._in_hurry = True


def _noted(_number: int, _frame: FrameType | None) -> None:
    """Wakes the loop through the wake-up descriptor."""


def _ending(child: Child) -> str:
    code = child.exit_code or 0
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
