"""Signs of work in a workspace, as its server tells them through the tunnel."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

from provisioning.drivers.base import ActivityReading, TerminalActivity
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
