"""Processes as /proc tells them. Standard library only: the keeper imports this."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

BOOT_ID = "/proc/sys/kernel/random/boot_id"


@dataclass(frozen=True, slots=True)
class Process:
    """One living process. `start_ticks` with the boot id tells a reused pid from the old one."""

    pid: int
    parent: int
    session: int
    terminal: int
    start_ticks: int


def boot_id() -> str:
    with open(BOOT_ID) as file:
        return file.read().strip()


def process(pid: int) -> Process | None:
    """The living process of that pid; zombies are dead."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    if fields[0] in (b"Z", b"X"):
        return None
    return Process(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        terminal=int(fields[4]),
        start_ticks=int(fields[19]),
    )


def is_same(pid: int | None, start_ticks: int | None) -> bool:
    """Whether the process once seen under this pid still lives."""
    if pid is None:
        return False
    found = process(pid)
    return found is not None and found.start_ticks == start_ticks


def everyone() -> dict[int, Process]:
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return {pid: found for pid in pids if (found := process(pid)) is not None}


def children_of(pid: int, among: Mapping[int, Process]) -> list[Process]:
    found = [each for each in among.values() if each.parent == pid]
    return sorted(found, key=lambda each: (each.start_ticks, each.pid))


def first_below(pid: int, levels: int, among: Mapping[int, Process]) -> int:
    """Down the first children: from a wrapper to what it runs, as far as that is there."""
    for _ in range(levels):
        below = children_of(pid, among)
        if not below:
            break
        pid = below[0].pid
    return pid


def descendants_of(pid: int) -> list[Process]:
    among = everyone()
    found: list[Process] = []
    todo = [pid]
    while todo:
        children = children_of(todo.pop(), among)
        found += children
        todo += [child.pid for child in children]
    return found


def marked_with(*markers: str) -> list[Process]:
    """Processes whose environment at their start held every one of these NAME=value."""
    wanted = {marker.encode() for marker in markers}
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or not wanted <= _environment(int(name)):
            continue
        if (living := process(int(name))) is not None:
            found.append(living)
    return found


def value_in_environment(pid: int, name: str) -> str | None:
    prefix = f"{name}=".encode()
    for entry in _environment(pid):
        if entry.startswith(prefix):
            return entry[len(prefix) :].decode(errors="replace")
    return None


def _environment(pid: int) -> set[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return set(file.read().split(b"\0"))
    except OSError:
        return set()


def send(number: int, targets: Iterable[Process]) -> None:
    """Signal each that is still the same process; a handle taken before the look keeps it so."""
    for target in targets:
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(target.pid)
            try:
                if is_same(target.pid, target.start_ticks):
                    signal.pidfd_send_signal(handle, number)
            finally:
                os.close(handle)


def kill_and_wait(targets: Iterable[Process], *, seconds: float) -> list[Process]:
    """End them by force; the answer holds those that are still there."""
    left = list(targets)
    deadline = time.monotonic() + seconds
    while left:
        send(signal.SIGKILL, left)
        left = [each for each in left if is_same(each.pid, each.start_ticks)]
        if time.monotonic() > deadline:
            break
        if left:
            time.sleep(0.01)
    return left
