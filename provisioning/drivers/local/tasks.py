"""What became of an array's tasks, as their supervisor tells it. The workload could have written anything there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from provisioning.drivers.base import Phase, TaskSeen
from provisioning.drivers.jobs import ArrayRun
from provisioning.drivers.local import beneath, logs
from provisioning.drivers.local.array import REPORT

FOLDER: Final = "tasks"
MOST_BYTES: Final = 16 * 1024 * 1024
_PHASES: Final = {
    "running": Phase.RUNNING,
    "waiting": Phase.STARTING,
    "succeeded": Phase.SUCCEEDED,
    "failed": Phase.FAILED,
    "stopped": Phase.STOPPED,
}
_OVER: Final = (Phase.SUCCEEDED, Phase.FAILED, Phase.STOPPED)
_MOST: Final = 2**53


def plan_of(run: ArrayRun, *, parallelism: int, folder: str, pause_s: float) -> str:
    """What the supervisor is told."""
    return json.dumps(
        {
            "tasks": list(run.tasks),
            "parallelism": parallelism,
            "sweep": [[name, list(values)] for name, values in run.sweep],
            "retries": run.retries,
            "fatal_codes": list(run.fatal_codes),
            "stops_at_failure": run.stops_at_failure,
            "folder": folder,
            "pause_s": pause_s,
        }
    )


def seen(box: Path, run: ArrayRun) -> tuple[TaskSeen, ...]:
    """Those that have begun, in order."""
    found: dict[int, TaskSeen] = {}
    for line in _lines(box):
        index, phase, at = _whole(line.get("index")), _PHASES.get(str(line.get("state"))), _instant(line.get("at"))
        if index is None or index not in run.tasks or phase is None or at is None:
            continue
        known = found.get(index, TaskSeen(index, phase))
        found[index] = replace(
            known,
            phase=phase,
            started_at=known.started_at or at,
            ended_at=max(at, known.started_at or at) if phase in _OVER else None,
            exit_code=_whole(line.get("code")) if phase is not Phase.STOPPED else None,
            failures=min(_whole(line.get("failures")) or 0, run.retries + 1),
        )
    return tuple(found[index] for index in sorted(found))


def log_of(box: Path, index: int, *, lines: int) -> tuple[str, ...]:
    try:
        descriptor = beneath.file(box, (FOLDER, f"{index}.log"))
    except OSError:
        return ()
    with os.fdopen(descriptor, "rb") as file:
        return logs.last_of(file, lines=lines)


def _lines(box: Path) -> Iterator[Mapping[str, object]]:
    try:
        descriptor = beneath.file(box, (FOLDER, REPORT))
    except OSError:
        return
    with os.fdopen(descriptor, "rb") as file:
        for line in file.read(MOST_BYTES).splitlines():
            try:
                told = json.loads(line)
            except ValueError:
                continue  # half a line, or somebody's own hand
            if isinstance(told, dict):
                yield told


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else None


def _instant(value: object) -> datetime | None:
    microseconds = _whole(value)
    try:
        return None if microseconds is None else datetime.fromtimestamp(microseconds / 1_000_000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
