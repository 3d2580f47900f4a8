"""Signs of work in a workspace or a Dask cluster, as its server tells them through the tunnel."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from provisioning.drivers.base import ActivityReading, ProbeFailed, TerminalActivity
from provisioning.drivers.local import probe
from provisioning.drivers.local.activity import instant_of, kernel_of

ANSWER_S: Final = 3.0


def read(socket: Path, *, now: datetime) -> ActivityReading:
    """Every signal there is, or `ProbeFailed`. Processes of the pod are not seen: a terminal works while it prints."""
    kernels = tuple(kernel_of(row) for row in probe.rows(socket, "/api/kernels", seconds=ANSWER_S))
    terminals = tuple(
        TerminalActivity(str(row.get("name", "")), busy=False, last_activity=instant_of(row.get("last_activity")))
        for row in probe.rows(socket, "/api/terminals", seconds=ANSWER_S)
    )
    connections = sum(kernel.connections for kernel in kernels)
    return ActivityReading(at=now, kernels=kernels, terminals=terminals, connections=connections, detached=0)


def read_dask(socket: Path, *, now: datetime) -> ActivityReading:
    return reading_of_dask(probe.row(socket, "/json/counts.json", seconds=ANSWER_S), now=now)


def reading_of_dask(counts: Mapping[str, object], *, now: datetime) -> ActivityReading:
    """Of the scheduler's own counts: tasks that run, wait or find no worker are work; kept results are none."""
    told = [counts.get(name) for name in ("processing", "waiting", "unrunnable", "clients")]
    known = [each for each in told if isinstance(each, int) and each >= 0]
    if len(known) < len(told):
        raise ProbeFailed("the scheduler does not tell its tasks")
    return ActivityReading(at=now, kernels=(), terminals=(), connections=known[3], detached=sum(known[:3]))
