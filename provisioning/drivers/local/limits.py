"""CPU, memory and process limits through control groups, version 2 or 1. Standard library only.

A workload's group is made below the group the keeper itself lives in, so that every limit which
already binds us binds the workload too. A process that escaped its parent is still in its group.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass

MOUNTS = "/proc/self/mounts"
OWN_GROUPS = "/proc/self/cgroup"
PERIOD_US = 100_000
CONTROLLERS = ("cpu", "memory", "pids")


@dataclass(frozen=True, slots=True)
class Limits:
    vcpus: int
    memory_bytes: int
    processes: int


@dataclass(frozen=True, slots=True)
class Group:
    """A directory of the control group file system and the controllers that work in it."""

    path: str
    version: int
    controllers: frozenset[str]


def writable_parents() -> list[Group]:
    """Where groups may be made: our own group in each hierarchy that is mounted and writable."""
    found: list[Group] = []
    own = _own_groups()
    for kind, mount, options in _mounts():
        if kind == "cgroup2":
            found += _version_two(mount + own.get("", "/"))
        elif kind == "cgroup":
            controllers = options & frozenset(CONTROLLERS)
            for name in sorted(controllers):
                path = (mount + own.get(name, "/")).rstrip("/")
                if os.access(path, os.W_OK) and all(name not in f.controllers for f in found):
                    found.append(Group(path, 1, frozenset({name})))
    return found


def create(name: str, limits: Limits) -> tuple[str, ...]:
    """The paths of the groups made. An empty answer means: not limited here."""
    made: list[str] = []
    for parent in writable_parents():
        path = os.path.join(parent.path, name)
        try:
            os.makedirs(path, exist_ok=True)
            for setting, value in _settings(parent, limits):
                _write(os.path.join(path, setting), value)
        except OSError:
            with contextlib.suppress(OSError):
                os.rmdir(path)
            continue
        made.append(path)
    return tuple(dict.fromkeys(made))


def enter(paths: tuple[str, ...]) -> None:
    """Put the calling process, and so all it will start, into the groups."""
    for path in paths:
        _write(os.path.join(path, "cgroup.procs"), "0")


def members(paths: tuple[str, ...]) -> set[int]:
    found: set[int] = set()
    for path in paths:
        with contextlib.suppress(OSError), open(os.path.join(path, "cgroup.procs")) as file:
            found |= {int(line) for line in file}
    return found - {0}


def remove(paths: tuple[str, ...]) -> None:
    """A group stays busy for an instant after its last process."""
    for path in paths:
        for _ in range(20):
            try:
                os.rmdir(path)
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.01)
            else:
                break


def killed_for_memory(paths: tuple[str, ...]) -> bool:
    for path in paths:
        for name in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError), open(os.path.join(path, name)) as file:
                counts = dict(line.split() for line in file)
                if int(counts.get("oom_kill", "0")) > 0:
                    return True
    return False


def _settings(parent: Group, limits: Limits) -> list[tuple[str, str]]:
    """Processor time, memory and number of processes, in this version's words."""
    quota = limits.vcpus * PERIOD_US
    if parent.version == 2:
        words = {
            "cpu": [("cpu.max", f"{quota} {PERIOD_US}")],
            "memory": [("memory.max", str(limits.memory_bytes))],
            "pids": [("pids.max", str(limits.processes))],
        }
    else:
        words = {
            "cpu": [("cpu.cfs_period_us", str(PERIOD_US)), ("cpu.cfs_quota_us", str(quota))],
            "memory": [("memory.limit_in_bytes", str(limits.memory_bytes))],
            "pids": [("pids.max", str(limits.processes))],
        }
    return [pair for name in CONTROLLERS if name in parent.controllers for pair in words[name]]


def _version_two(path: str) -> list[Group]:
    """Our own group, as far as its controllers are (or can be) handed down to its children."""
    path = path.rstrip("/")
    handed_down = os.path.join(path, "cgroup.subtree_control")
    for name in CONTROLLERS:
        with contextlib.suppress(OSError):
            _write(handed_down, f"+{name}")
    try:
        with open(handed_down) as file:
            controllers = frozenset(file.read().split()) & frozenset(CONTROLLERS)
    except OSError:
        return []
    if not controllers or not os.access(path, os.W_OK):
        return []
    return [Group(path, 2, controllers)]


def _own_groups() -> dict[str, str]:
    """Our path by controller; the empty name is version 2."""
    found: dict[str, str] = {}
    with contextlib.suppress(OSError), open(OWN_GROUPS) as file:
        for line in file:
            _, names, path = line.rstrip("\n").split(":", 2)
            found |= dict.fromkeys(names.split(","), path)
    return found


def _mounts() -> list[tuple[str, str, frozenset[str]]]:
    found = []
    with contextlib.suppress(OSError), open(MOUNTS) as file:
        for line in file:
            _, mount, kind, options, *_ = line.split()
            if kind in ("cgroup", "cgroup2"):
                found.append((kind, mount, frozenset(options.split(","))))
    return found


def _write(path: str, value: str) -> None:
    with open(path, "w") as file:
        file.write(value)
