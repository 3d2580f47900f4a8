"""The commands that our Dask pods run, with a real Dask and without a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from portal.up.ports import free_port
from provisioning.drivers.base import ProbeFailed
from provisioning.drivers.kubernetes import dasks
from provisioning.drivers.kubernetes.activity import reading_of_dask
from provisioning.drivers.kubernetes.reading import Json, part, rows, words
from provisioning.drivers.kubernetes.servers import DASHBOARD
from provisioning.drivers.places import Place
from tests.drivers.rig import a_spec, until
from tests.kube.lab.dask_operator import environment

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
WORK = """
import sys, time
from distributed import Client
client = Client(sys.argv[1], timeout=60)
client.wait_for_workers(2, timeout=60)
print(sum(client.gather(client.map(lambda n: n * n, range(100)))), flush=True)
held = client.submit(time.sleep, 3600)
sys.stdin.read()
"""


def command_of(role: str, ports: dict[int, int]) -> list[str]:
    """As Kubernetes hands it to the container, on ports of the test's own."""
    spec = a_spec(kind="cluster", framework="dask", workers=2)
    pod = part(dasks.cluster(spec, Place("kubernetes", uuid4()), "run-1"), "spec", role, "spec")
    container: Json = rows(pod, "containers")[0]
    command = words(container, "command")
    for usual, own in ports.items():
        command = [word.replace(str(usual), str(own)) for word in command]
    return [word.replace("$$", "$").replace("/tmp/dask", "dask") for word in command]


@contextmanager
def running(command: list[str], folder: Path, **more: str) -> Iterator[subprocess.Popen[str]]:
    """With Dask's own environment first on the path; it is asked to end, as Kubernetes asks its first process."""
    path = f"{environment() / 'bin'}{os.pathsep}{os.environ['PATH']}"
    variables = os.environ | {"PATH": path, "HOME": str(folder)} | more
    log = (folder / "log").open("a")
    with subprocess.Popen(
        command, cwd=folder, env=variables, stdin=-1, stdout=-1, stderr=log, text=True, start_new_session=True
    ) as child:
        try:
            yield child
        finally:
            assert child.stdin is not None
            child.stdin.close()
            child.send_signal(signal.SIGTERM)
            child.wait(60)


def test_a_head_and_a_worker_compute_and_say_what_they_do(tmp_path: Path) -> None:
    if not (environment() / "whole").exists():
        pytest.skip("Dask is not installed: tests/kube/lab/lab build dask")
    ports = {dasks.PORT: free_port(), DASHBOARD: free_port()}
    scheduler = f"tcp://127.0.0.1:{ports[dasks.PORT]}"
    told = {"DASK_WORKER_NAME": "w1", "DASK_SCHEDULER_ADDRESS": scheduler}

    def counts() -> dict[str, object]:
        with urllib.request.urlopen(f"http://127.0.0.1:{ports[DASHBOARD]}/json/counts.json", timeout=20) as answer:
            found: dict[str, object] = json.load(answer)
            return found

    with ExitStack() as stack:
        head = stack.enter_context(running(command_of("scheduler", ports), tmp_path))
        stack.enter_context(running(command_of("worker", ports), tmp_path, **told))
        client = stack.enter_context(running(["python", "-c", WORK, scheduler], tmp_path))
        assert client.stdout is not None
        assert client.stdout.readline().strip() == "328350", (tmp_path / "log").read_text()[-3000:]

        working = until(lambda: reading_of_dask(counts(), now=NOON), lambda reading: reading.busy)
        assert working.detached == 1
        assert working.connections
        assert client.stdin is not None
        client.stdin.close()
        resting = until(lambda: reading_of_dask(counts(), now=NOON), lambda reading: not reading.busy)
        assert resting.detached == 0
        head.send_signal(signal.SIGTERM)
        assert head.wait(60) in (143, 0)


@pytest.mark.parametrize(
    "counts", [{}, {"processing": "1"}, {"processing": 0, "waiting": 0, "unrunnable": -1, "clients": 0}]
)
def test_what_a_scheduler_does_not_tell_is_unknown(counts: dict[str, object]) -> None:
    with pytest.raises(ProbeFailed):
        reading_of_dask(counts, now=NOON)
