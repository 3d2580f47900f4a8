"""Processes that outlive the command, each with a record of who it is and what it was started with."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tests.kube.lab.places import PKI, RUN

Flag = str | int | bool | Path
T = TypeVar("T")


def identity(pid: int) -> list[str]:
    """The program and the start time, which tell a process from a later one with the same id."""
    process = Path(f"/proc/{pid}")
    return [str((process / "exe").readlink()), (process / "stat").read_text().rpartition(")")[2].split()[19]]


def running(name: str) -> int | None:
    """The process id, if that process still is what we started."""
    try:
        record = json.loads((RUN / f"{name}.json").read_text())
        return int(record["pid"]) if identity(record["pid"]) == record["identity"] else None
    except (FileNotFoundError, ProcessLookupError):
        return None


def start(name: str, /, *words: Flag, **flags: Flag) -> None:
    """Run the words with --flag=value for each flag, unless exactly that runs already."""
    argv = [str(word) for word in words]
    for flag, value in flags.items():
        argv.append(f"--{flag.replace('_', '-')}={str(value).lower() if isinstance(value, bool) else value}")
    record = RUN / f"{name}.json"
    if running(name):
        if json.loads(record.read_text())["argv"] == argv:
            return
        stop(name)
    with (RUN / f"{name}.log").open("wb") as log:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    record.write_text(json.dumps({"pid": child.pid, "identity": identity(child.pid), "argv": argv}))


def stop(name: str) -> None:
    for attempt in range(150):
        if not (pid := running(name)):
            break
        os.kill(pid, signal.SIGKILL if attempt >= 100 else signal.SIGTERM)
        time.sleep(0.1)
    (RUN / f"{name}.json").unlink(missing_ok=True)


def started() -> list[str]:
    """Everything `up` started, newest first."""
    return [path.stem for path in sorted(RUN.glob("*.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)]


def answers(url: str) -> bool:
    context = ssl.create_default_context(cafile=str(PKI / "ca.crt"))
    context.load_cert_chain(PKI / "admin.crt", PKI / "admin.key")
    try:
        with urllib.request.urlopen(url, timeout=5, context=context):
            return True
    except OSError:
        return False


def wait_for(what: str, test: Callable[[], T]) -> T:
    end = time.monotonic() + 120
    while not (value := test()):
        if dead := [name for name in started() if not running(name)]:
            sys.exit(f"lab: {dead[0]} died; see {RUN / dead[0]}.log")
        if time.monotonic() > end:
            sys.exit(f"lab: gave up waiting for {what}; logs in {RUN}")
        time.sleep(0.1)
    return value
