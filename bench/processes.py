"""Processes of a measurement: what trees of them have spent, and those of the platform that work on clusters."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from portal.up.ephemeral import Servers
from portal.up.plan import Plan

ROOT = Path(__file__).resolve().parent.parent
WORKING = ("worker", "beat", "watch")


def cpu_of(pids: Mapping[str, int]) -> dict[str, float]:
    """CPU seconds of each tree so far, with those of its members that have ended and were waited for."""
    return {name: sum(_spent(each) for each in _tree(pid)) for name, pid in pids.items()}


def spent_since(before: Mapping[str, float], pids: Mapping[str, int]) -> dict[str, float]:
    return {name: round(spent - before.get(name, 0.0), 2) for name, spent in cpu_of(pids).items()}


def servers_of(running: Servers) -> dict[str, int]:
    """The database and the broker, by their command lines."""
    found = {}
    for process in psutil.process_iter(["cmdline", "ppid"]):
        line = " ".join(process.info["cmdline"] or ())
        for name in ("postgres", "valkey"):
            if str(running.directory) in line and name in line and process.info["ppid"] == os.getpid():
                found[name] = process.pid
    return found


@contextmanager
def working(running: Servers, home: Path) -> Iterator[dict[str, int]]:
    """Worker, beat and watch as `make up` starts them, logged in as the web role. Yields their process ids."""
    web = {**os.environ, "DATABASE_URL": running.app_url, "DJANGO_SETTINGS_MODULE": "portal.settings"}
    (home / "beat").mkdir(parents=True, exist_ok=True)
    plan = Plan(root=ROOT, home=home, port=1, web=web, owner=web)
    with ExitStack() as stack:
        pids = {}
        for spec in plan.processes():
            if spec.name in WORKING:
                log = stack.enter_context((home / f"{spec.name}.log").open("wb"))
                pids[spec.name] = stack.enter_context(_running(spec.words, spec.environment, log.fileno()))
        yield pids


@contextmanager
def _running(words: tuple[str, ...], environment: Mapping[str, str], log: int) -> Iterator[int]:
    child = subprocess.Popen(words, cwd=ROOT, env=dict(environment), stdout=log, stderr=log)
    try:
        yield child.pid
    finally:
        child.terminate()
        try:
            child.wait(30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _tree(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    return []


def _spent(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0
