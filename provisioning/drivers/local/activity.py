"""Signs of work in a workspace: kernels, terminals, open connections, processes left running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from provisioning.drivers.base import (
    ActivityReading,
    KernelActivity,
    ProbeFailed,
    TerminalActivity,
)
from provisioning.drivers.local import probe, procfs
from provisioning.drivers.local.procfs import Process
from provisioning.drivers.local.record import Record

AT_REST = ("idle", "dead")


def read(known: Record, socket: Path, *, now: datetime, seconds: float) -> ActivityReading:
    """Every signal, or `ProbeFailed`."""
    kernels = tuple(kernel_of(row) for row in probe.rows(socket, "/api/kernels", seconds=seconds))
    terminals = probe.rows(socket, "/api/terminals", seconds=seconds)
    among = procfs.everyone()
    if known.child_pid not in among or known.keeper_pid not in among:
        raise ProbeFailed("the server's processes are gone")
    server = procfs.first_below(known.child_pid, known.wrappers, among)
    shells = [
        child for child in procfs.children_of(server, among) if child.terminal != 0 and child.session == child.pid
    ]
    return ActivityReading(
        at=now,
        kernels=kernels,
        terminals=_terminals(terminals, shells, among),
        connections=sum(kernel.connections for kernel in kernels),
        detached=_detached(known, server, among),
    )


def kernel_of(row: Mapping[str, object]) -> KernelActivity:
    """A kernel that starts, works or is in a state we do not know counts as busy."""
    state, connections = row.get("execution_state"), row.get("connections")
    if not isinstance(state, str) or not isinstance(connections, int):
        raise ProbeFailed("a kernel was described without its state or connections")
    return KernelActivity(
        name=str(row.get("name", "")),
        busy=state not in AT_REST,
        last_activity=instant_of(row.get("last_activity")),
        connections=connections,
    )


def _terminals(
    rows: Sequence[Mapping[str, object]], shells: Sequence[Process], among: Mapping[int, Process]
) -> tuple[TerminalActivity, ...]:
    """Terminals are numbered as their shells are started, so both in order belong together."""
    ordered = sorted(rows, key=lambda row: (len(str(row.get("name"))), str(row.get("name"))))
    if rows and len(rows) != len(shells):
        anyone = any(procfs.children_of(shell.pid, among) for shell in shells)
        return tuple(_terminal(row, busy=anyone) for row in ordered)
    return tuple(
        _terminal(row, busy=bool(procfs.children_of(shell.pid, among)))
        for row, shell in zip(ordered, shells, strict=bool(rows))
    )


def _terminal(row: Mapping[str, object], *, busy: bool) -> TerminalActivity:
    name, last = str(row.get("name", "")), instant_of(row.get("last_activity"))
    return TerminalActivity(name=name, busy=busy, last_activity=last)


def _detached(known: Record, server: int, among: Mapping[int, Process]) -> int:
    """Orphans are taken in by the init of the namespace, else by the keeper."""
    if known.child_pid is None or known.keeper_pid is None:
        return 0
    taken_in_by = known.keeper_pid
    if known.wrappers:
        taken_in_by = procfs.first_below(known.child_pid, known.wrappers - 1, among)
    below = procfs.children_of(taken_in_by, among)
    wrappers = {known.child_pid, server}
    return len([each for each in below if each.pid not in wrappers])


def instant_of(value: object) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise ProbeFailed("an instant was not given as text")
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except ValueError as error:
        raise ProbeFailed("an instant could not be read") from error
