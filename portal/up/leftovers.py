"""Ends what an earlier run of *this* installation left behind when it was killed. Called with the installation's lock
held.

A process is ours when its environment carries this installation's mark, when a record names its number and start, or
when it is a database server whose working directory is this installation's own. Workspaces are not: they are adopted
by the reconciler.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path

import psutil

MARK = "STEELYARD_SUPERVISED"
_PATIENCE_SECONDS = 10.0
_SERVERS = {"postgres": signal.SIGINT, "valkey-server": signal.SIGTERM, "redis-server": signal.SIGTERM}


def end_leftovers(*, installation_id: str, records: Path, server_folders: Sequence[Path]) -> int:
    """How many there were. Clients end before the servers they use."""
    clients = {process.pid: process for process in [*_marked(installation_id), *_recorded(records)]}
    servers = {process.pid: process for folder in server_folders for process in _servers_in(folder)}
    _end([process for process in clients.values() if process.pid not in servers])
    _end(list(servers.values()))
    for record in records.glob("*.json"):
        record.unlink(missing_ok=True)
    for folder in server_folders:
        (folder / "postmaster.pid").unlink(missing_ok=True)
        for lock in folder.parent.glob(".s.PGSQL.*.lock"):  # the number in it may be somebody else's by now
            lock.unlink(missing_ok=True)
    return len(clients | servers)


def _marked(installation_id: str) -> Iterable[psutil.Process]:
    """Where a process's environment cannot be read, it is not ours."""
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == installation_id and process.pid != os.getpid():
                yield process
        except (psutil.Error, OSError):
            continue


def _recorded(records: Path) -> Iterable[psutil.Process]:
    for record in records.glob("*.json"):
        try:
            kept = json.loads(record.read_text())
            process = psutil.Process(int(kept["pid"]))
            if abs(process.create_time() - float(kept["started"])) < 0.5:
                yield process
        except (psutil.Error, OSError, ValueError, KeyError):
            continue


def _servers_in(folder: Path) -> Iterable[psutil.Process]:
    """Servers and their own children, which all keep the data folder as working directory."""
    for process in psutil.process_iter(["name"]):
        try:
            if process.info["name"] in _SERVERS and Path(process.cwd()) == folder:
                yield process
        except (psutil.Error, OSError):
            continue


def _end(processes: list[psutil.Process]) -> None:
    for process in processes:
        _send(process, _polite_signal(process))
        _send(process, signal.SIGCONT)
    _, alive = psutil.wait_procs(processes, timeout=_PATIENCE_SECONDS)
    for process in alive:
        _send(process, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=_PATIENCE_SECONDS)


def _polite_signal(process: psutil.Process) -> signal.Signals:
    try:
        return _SERVERS.get(process.name(), signal.SIGTERM)
    except psutil.Error:
        return signal.SIGTERM


def _send(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.Error:
        return
