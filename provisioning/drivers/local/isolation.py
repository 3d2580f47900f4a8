"""How far people are kept apart on this machine, and how far what they use is bounded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from provisioning.drivers.local import limits
from provisioning.drivers.local.config import LocalConfig
from provisioning.drivers.local.order import BUBBLEWRAP, NAMESPACE, NONE, UID

PROBE_S = 10
ROOT_OF_CODE = Path(__file__).resolve().parents[3]

_SENTENCES = {
    NAMESPACE: ("Each project runs as a user of its own and sees only its own files and processes."),
    BUBBLEWRAP: "Each workspace sees only its own files and processes (bubblewrap).",
    UID: (
        "Each project runs as a user of its own; this machine allows no namespaces, so the names "
        "of other processes can be seen."
    ),
    NONE: (
        "Not isolated: evaluation only. Workspaces can read whatever the platform's user can read. "
        "Install bubblewrap or run as root."
    ),
}


@dataclass(frozen=True, slots=True)
class IsolationReport:
    kind: str
    isolated: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class LimitsReport:
    """What is enforced. The size of a volume never is on this driver."""

    vcpus: bool
    memory: bool
    disk: bool
    sentence: str


def isolation_of(config: LocalConfig) -> IsolationReport:
    """Found by trying, once per process."""
    kind = config.isolation or _strongest()
    return IsolationReport(kind=kind, isolated=kind != NONE, sentence=_SENTENCES[kind])


@cache
def limits_of_machine() -> LimitsReport:
    offered: set[str] = set()
    for parent in limits.writable_parents():
        offered |= parent.controllers
    vcpus, memory = "cpu" in offered, "memory" in offered
    bounded = [name for name, so in (("vCPU", vcpus), ("memory", memory)) if so]
    free = [name for name, so in (("vCPU", vcpus), ("memory", memory)) if not so]
    parts = [f"{' and '.join(bounded)} limited" if bounded else ""]
    parts.append(f"{', '.join([*free, 'disk'])} not limited on this machine")
    sentence = "; ".join(part for part in parts if part)
    return LimitsReport(vcpus=vcpus, memory=memory, disk=False, sentence=sentence[0].upper() + sentence[1:] + ".")


@cache
def _strongest() -> str:
    if os.geteuid() == 0:
        return NAMESPACE if _works(_namespace_trial()) else UID
    if bubblewrap() is not None and _works(_bubblewrap_trial()):
        return BUBBLEWRAP
    return NONE


@cache
def bubblewrap() -> str | None:
    return shutil.which("bwrap")


def _namespace_trial() -> list[str]:
    return [sys.executable, "-S", "-E", "-m", "provisioning.drivers.local.trial"]


def _bubblewrap_trial() -> list[str]:
    always = ["--ro-bind", "/", "/", "--unshare-pid", "--unshare-ipc", "--proc", "/proc"]
    return [bubblewrap() or "bwrap", *always, "--dev", "/dev", "true"]


def _works(command: list[str]) -> bool:
    try:
        done = subprocess.run(command, cwd=ROOT_OF_CODE, capture_output=True, timeout=PROBE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
