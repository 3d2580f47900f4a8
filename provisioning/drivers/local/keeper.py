"""The process that keeps one workload's server: starts it, watches it, ends it, records it.

It belongs to no other process of the platform and outlives them. The lock it inherited is held for
its whole life, so there is never a second one. SIGTERM ends the workload (asked), SIGHUP ends it
because the platform goes down. Standard library only, started without site-packages.

    python -S -E -m provisioning.drivers.local.keeper WORKLOAD <order
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
import time
from dataclasses import replace

from provisioning.drivers.local import child, limits, procfs, record, view
from provisioning.drivers.local.order import BUBBLEWRAP, NAMESPACE, Order, load
from provisioning.drivers.local.record import Record

WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP}
WRAPPERS = {NAMESPACE: 1, BUBBLEWRAP: 2}
FIRST_LOOKS_S, LOOK_S = 0.01, 0.05
RECORD_RETRY_S = 1.0


def main() -> None:
    order = load(sys.stdin.buffer.read())
    told, tell = os.pipe()
    if os.fork():
        os.close(tell)
        os.read(told, 1)  # until the keeper has recorded itself, or is gone
        os._exit(0)
    os.close(told)
    os.setsid()
    os.chdir("/")
    os.umask(0o077)
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED | {signal.SIGINT})
    Keeper(order, tell).keep()


class Keeper:
    def __init__(self, order: Order, tell: int) -> None:
        self.order = order
        self.record = order.record
        self.tell = tell
        self.child = 0
        self.failure = -1
        self.log = -1
        self.asked_at: float | None = None
        self.told_to_end: int | None = None
        self.beaten_at = 0.0
        self.exit_code: int | None = None

    def keep(self) -> None:
        view.control(view.PR_SET_CHILD_SUBREAPER, 1)
        self.log = self._open_log()
        self._start()
        os.close(self.tell)
        self._watch()
        self._end_descendants()
        self._record_end()

    def _start(self) -> None:
        """Record first, then let the child go: no server runs that the record does not know."""
        order = self.order
        cgroups = limits.create(order.group, order.limits)
        me = procfs.process(os.getpid())
        if order.kind == NAMESPACE:
            view.unshare(view.CLONE_NEWPID)
        go, release = os.pipe()
        self.failure, failed = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            for descriptor in (release, self.failure, self.tell, order.lock):
                os.close(descriptor)
            child.become(order, cgroups, go=go, failure=failed, log=self.log)
        for descriptor in (go, failed):
            os.close(descriptor)
        self._write(
            replace(
                self.record,
                keeper_pid=os.getpid(),
                keeper_ticks=None if me is None else me.start_ticks,
                child_pid=self.child,
                wrappers=WRAPPERS.get(order.kind, 0),
                cgroups=cgroups,
                started_at=record.now_us(),
            )
        )
        if self.record.task:
            self._write(replace(self.record, phase=record.RUNNING, listening_at=self.record.started_at))
        os.write(release, b"!")
        os.close(release)

    def _watch(self) -> None:
        """Until the child has ended."""
        began = time.monotonic()
        while not self._reap():
            caught = signal.sigtimedwait(WATCHED, self._patience(began))
            if caught is not None and caught.si_signo in (signal.SIGTERM, signal.SIGHUP):
                self._ask_to_end(by_platform=caught.si_signo == signal.SIGHUP)
            if self.asked_at is None:
                self._publish_socket()
            else:
                self._press()
            self._beat()

    def _patience(self, began: float) -> float:
        if self.asked_at is not None:
            return LOOK_S
        if self.record.listening_at is None:
            return FIRST_LOOKS_S if time.monotonic() - began < 1 else LOOK_S
        return self.order.heartbeat_s

    def _reap(self) -> bool:
        """Reap all that ended; True when the child itself is gone."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return False
                if pid == self.child:
                    self.exit_code = os.waitstatus_to_exitcode(status)
        return True

    def _ask_to_end(self, *, by_platform: bool) -> None:
        if self.asked_at is not None:
            return
        self.asked_at = time.monotonic()
        asked = replace(self.record, phase=record.STOPPING)
        if by_platform:
            asked = replace(
                asked,
                reason_code="platform_stopped",
                reason_message="The platform was shut down.",
            )
        with contextlib.suppress(OSError):
            record.write(self.order.directory, asked)
        self.record = asked

    def _press(self) -> None:
        """Ask the server once, as soon as it is there; end everything when the grace is over."""
        if self.asked_at is None:
            return
        if time.monotonic() - self.asked_at > self.order.grace_s:
            procfs.send(signal.SIGKILL, procfs.descendants_of(os.getpid()))
            return
        pid = procfs.first_below(self.child, self.record.wrappers, procfs.everyone())
        server = procfs.process(pid)
        if server is None or pid == self.told_to_end:
            return
        if pid != self.child or self.record.wrappers == 0:
            self.told_to_end = pid
            procfs.send(signal.SIGTERM, [server])

    def _end_descendants(self) -> None:
        """What outlived the server becomes ours (subreaper): ask, then end, until none is left."""
        deadline = time.monotonic() + self.order.farewell_s
        left = procfs.descendants_of(os.getpid())
        procfs.send(signal.SIGTERM, left)
        while left or not self._reap():
            if time.monotonic() > deadline:
                procfs.send(signal.SIGKILL, left)
            signal.sigtimedwait({signal.SIGCHLD}, LOOK_S)
            self._reap()
            left = procfs.descendants_of(os.getpid())

    def _record_end(self) -> None:
        """Try until it is written: a full disk must not turn an end into a guess."""
        code, message, phase = self._verdict()
        end = record.ended(self.record, phase=phase, at=record.now_us(), code=code, message=message)
        end = replace(end, exit_code=self.exit_code, acknowledged=self._was_asked())
        limits.remove(self.record.cgroups)
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.order.directory, record.SOCKET))
        while True:
            try:
                self._write(end)
            except OSError:
                time.sleep(RECORD_RETRY_S)
            else:
                return

    @property
    def _it(self) -> str:
        return "The command" if self.record.task else "The server"

    def _was_asked(self) -> bool:
        return self.asked_at is not None and self.record.reason_code is None

    def _verdict(self) -> tuple[str | None, str | None, str]:
        """Reason code, sentence and phase of this end."""
        if self.asked_at is not None:
            return self.record.reason_code, self.record.reason_message, record.STOPPED
        told = os.read(self.failure, 1000).decode(errors="replace")
        if told:
            return "start_failed", told, record.FAILED
        how = _ending(self.exit_code)
        if self.record.task and self.exit_code == 0:
            return None, None, record.SUCCEEDED
        if limits.killed_for_memory(self.record.cgroups):
            return "out_of_memory", f"{self._it} was ended for want of memory ({how}).", record.FAILED
        if self.record.task:
            return "command_failed", f"The command failed ({how}).", record.FAILED
        if self.record.listening_at is None:
            return "start_failed", f"The server ended before it answered ({how}).", record.FAILED
        if self.exit_code == 0:
            return "ended_by_itself", "The server was shut down from inside.", record.STOPPED
        return "server_ended", f"The server ended unasked ({how}).", record.FAILED

    def _publish_socket(self) -> None:
        """Link the server's socket into our own folder, by its inode.

        The folder it was made in belongs to the workload's user, who could put a link to another
        socket of this machine there and let the proxy, which may do more, connect to that.
        """
        if self.record.listening_at is not None:
            return
        try:
            found = os.open(self.order.socket, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return
        try:
            seen = os.fstat(found)
            ours = self.order.uid is None or seen.st_uid == self.order.uid
            if not stat.S_ISSOCK(seen.st_mode) or not ours or seen.st_mode & 0o077:
                return  # not yet bound, or its mode not yet set
            self._link(found)
            self._write(replace(self.record, phase=record.RUNNING, listening_at=record.now_us()))
        except OSError:
            return  # a full disk: try again at the next look
        finally:
            os.close(found)

    def _link(self, found: int) -> None:
        """linkat(2) on the descriptor itself: Python follows /proc's link only with a folder."""
        folder = os.open(self.order.directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.link(f"/proc/self/fd/{found}", record.SOCKET, src_dir_fd=folder, dst_dir_fd=folder)
        except FileExistsError:
            return
        finally:
            os.close(folder)

    def _open_log(self) -> int:
        path = os.path.join(self.order.directory, record.LOG)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _beat(self) -> None:
        if time.monotonic() - self.beaten_at < self.order.heartbeat_s:
            return
        self.beaten_at = time.monotonic()
        record.beat(self.order.directory)
        self._keep_log_small()

    def _keep_log_small(self) -> None:
        size = os.fstat(self.log).st_size
        if size <= self.order.log_bytes:
            return
        keep = os.pread(self.log, self.order.log_bytes // 2, size - self.order.log_bytes // 2)
        os.ftruncate(self.log, 0)
        with contextlib.suppress(OSError):
            os.write(self.log, keep[keep.find(b"\n") + 1 :])

    def _write(self, new: Record) -> None:
        record.write(self.order.directory, new)
        self.record = new


def _ending(code: int | None) -> str:
    if code is None:
        return "unknown"
    number = -code if code < 0 else code - 128
    if code < 0 or code > 128:
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(number).name}"
    return f"exit code {code}"


if __name__ == "__main__":
    main()
