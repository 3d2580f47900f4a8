"""The processes of a workload on this machine, and what they use, out of /proc."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from provisioning.drivers.inside import PodSeen, PodsSeen
from provisioning.drivers.local import procfs
from provisioning.drivers.local.procfs import Process
from provisioning.drivers.local.record import Record

LOOK_S: Final = 0.1
MOST: Final = 300
_TICKS, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def pods(known: Record) -> PodsSeen:
    """The server, or each worker or task; of each what all below it use, measured for a moment."""
    if known.child_pid is None:
        return PodsSeen(())
    among = procfs.everyone()
    server = procfs.first_below(known.child_pid, known.wrappers, among)
    tops = procfs.children_of(server, among)[:MOST] if known.task else [among[server]] if server in among else []
    trees = {top.pid: [top.pid, *_below(top.pid, among)] for top in tops}
    before, began = {pid: _ticks(tree) for pid, tree in trees.items()}, time.monotonic()
    time.sleep(LOOK_S)
    seconds = time.monotonic() - began
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return PodsSeen(
        tuple(
            PodSeen(
                name=f"process {top.pid}",
                part=_part(top.pid) if known.task else "",
                node=platform.node(),
                state="running",
                started_at=datetime.fromtimestamp(boot + top.start_ticks / _TICKS, UTC),
                cpu_milli=max(round((_ticks(trees[top.pid]) - before[top.pid]) * 1000 / _TICKS / seconds), 0),
                memory_bytes=sum(map(_resident, trees[top.pid])),
            )
            for top in tops
        )
    )


def _below(pid: int, among: Mapping[int, Process]) -> list[int]:
    found: list[int] = []
    todo = [pid]
    while todo:
        children = [child.pid for child in procfs.children_of(todo.pop(), among)]
        found += children
        todo += children
    return found


def _part(pid: int) -> str:
    """What it was told to be."""
    task = procfs.value_in_environment(pid, "STEELYARD_TASK_INDEX")
    rank = procfs.value_in_environment(pid, "RANK")
    if task is not None:
        return f"task {task[:6]}"
    return f"worker {rank[:6]}" if rank is not None else ""


def _ticks(pids: Iterable[int]) -> int:
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            continue
        fields = text[text.rindex(b")") + 2 :].split()
        total += int(fields[11]) + int(fields[12])
    return total


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0
