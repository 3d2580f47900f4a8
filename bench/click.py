"""Row b1: from the click to a usable notebook, cold, beside a bare JupyterLab process.

The platform runs for real; a workspace is launched through the API, opened with a one-time code and asked for `/lab`
through the proxy. What counts is CPU: of the whole platform (web, worker, beat, proxy, databases) while one waits, plus
the workspace's own tree, against the tree of a bare JupyterLab until its `/lab` answers. What the platform spends while
nobody clicks is told beside it, as is wall time; nothing is taken off.

A second row is for honesty: our image starts JupyterLab in fewer steps than a person does, so the same click is also
set beside a bare JupyterLab that starts as ours does. What is left of the ratio there is the platform's own part.
`python -m bench.click [rounds]` prints both as JSON rows.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import psutil

from portal.up.ports import free_port

ROOT = Path(__file__).resolve().parent.parent
JUPYTER = ROOT / ".venv-workspace" / "bin" / "python"
START_OF_OURS = ("-c", (ROOT / "provisioning" / "drivers" / "local" / "jupyterlab_start.py").read_text())
Spent = tuple[float, float]
"""CPU and wall seconds."""
POLL_SECONDS = 0.5
"""A page asks every two seconds; here it is every half."""
PATIENCE_SECONDS = 120
IDLE_SECONDS = 6
IDLE: list[float] = []
"""What the platform would have spent during each click had nobody clicked."""


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as folder, platform(Path(folder)) as installation:
        bare(Path(folder), "0"), click(installation, 0)  # both once, so that files are in memory
        measured = [
            (click(installation, n), bare(Path(folder), f"{n}"), bare(Path(folder), f"{n}-alike", START_OF_OURS))
            for n in range(1, rounds + 1)
        ]
    ours, peer, alike = zip(*measured, strict=True)
    _tell("b1", ours, peer)
    _tell("b1-alike", ours, alike)


def _tell(name: str, ours: Sequence[Spent], peer: Sequence[Spent]) -> None:
    cpu, cpu_bare = median(c for c, _ in ours), median(c for c, _ in peer)
    row = {
        "row": name,
        "unit": "CPU s",
        "ours": round(cpu, 2),
        "peer": round(cpu_bare, 2),
        "ratio": round(cpu / cpu_bare, 3),
        "idle_of_it": round(median(IDLE), 2),
        "wall_seconds": round(median(w for _, w in ours), 2),
        "wall_seconds_peer": round(median(w for _, w in peer), 2),
        "rounds": [[round(c, 2) for c, _ in ours], [round(c, 2) for c, _ in peer]],
    }
    print(json.dumps(row))


@contextmanager
def platform(folder: Path) -> Iterator[dict[str, object]]:
    state = folder / "state"
    variables = os.environ | {"STEELYARD_STATE": str(state), "STEELYARD_PORT": str(free_port())}
    log = (folder / "up.log").open("w")
    process = subprocess.Popen([sys.executable, "manage.py", "up"], cwd=ROOT, env=variables, stdout=log, stderr=log)
    try:
        _until(lambda: (state / "installation.json").exists() or process.poll() is not None)
        yield json.loads((state / "installation.json").read_text())
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_SECONDS)
        log.close()


def click(installation: dict[str, object], number: int) -> Spent:
    """CPU and wall seconds from the launch until `/lab` answers through the proxy."""
    people: list[dict[str, str]] = installation["people"]  # type: ignore[assignment]
    token = next(person["token"] for person in people if person["role"] == "developer")
    pids: dict[str, int] = installation["pids"]  # type: ignore[assignment]
    platform_tree = psutil.Process(pids["up"])
    api = str(installation["api"])
    wish = {
        "project": "aurora/vision",
        "kind": "workspace",
        "name": f"bench-{number}",
        "shape": "cpu-4",
        "image": "jupyterlab-4",
        "disk_gib": 1,
    }
    idle = _idle_rate(platform_tree)
    before, begun = _platform_cpu(platform_tree), time.perf_counter()
    workload = _ask(api + "/workloads", token, wish)
    where = f"{api}/workloads/{workload['id']}"
    _until(lambda: _ask(where, token)["state"] in ("running", "failed"))
    cookie, host = _enter(str(_ask(where + "/open", token, {})["url"]))
    _until(lambda: _lab(urlsplit(str(installation["proxy"])).port or 0, host, cookie))
    wall = time.perf_counter() - begun
    own = _of_workload(str(workload["id"]))
    spent = _platform_cpu(platform_tree, without={each.pid for each in own}) - before + sum(map(_cpu_of, own))
    IDLE.append(idle * wall)
    _ask(where, token, method="DELETE")
    _until(lambda: not _of_workload(str(workload["id"])))
    return spent, wall


def _idle_rate(platform_tree: psutil.Process) -> float:
    """CPU seconds per second of a platform that nobody clicks: sweeps go on, and are no part of a click."""
    before = _platform_cpu(platform_tree)
    time.sleep(IDLE_SECONDS)
    return (_platform_cpu(platform_tree) - before) / IDLE_SECONDS


def bare(folder: Path, name: str, start: Sequence[str] = ("-m", "jupyterlab")) -> Spent:
    """The same for JupyterLab alone, as a person would start it, or as told."""
    home, path = folder / f"bare-{name}", folder / f"bare-{name}.sock"
    home.mkdir()
    begun = time.perf_counter()
    process = psutil.Popen(
        [
            str(JUPYTER),
            *start,
            "--no-browser",
            "--allow-root",
            f"--ServerApp.sock={path}",
            "--IdentityProvider.token=",
            f"--ServerApp.root_dir={home}",
        ],
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _until(lambda: _answers(path))
        return _cpu_of(process) + sum(map(_cpu_of, process.children(recursive=True))), time.perf_counter() - begun
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _enter(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port or 80, timeout=30)
    connection.request("GET", f"{parts.path}?{parts.query}", headers={"Host": parts.netloc})
    answer = connection.getresponse()
    cookie = (answer.getheader("Set-Cookie") or "").split(";")[0]
    if answer.status != 303 or not cookie:
        raise RuntimeError(f"The workspace did not open: {answer.status}")
    return cookie, parts.netloc


def _lab(port: int, host: str, cookie: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/lab", headers={"Host": host, "Cookie": cookie})
    return connection.getresponse().status == 200


def _answers(path: Path) -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(str(path))
        client.sendall(b"GET /lab HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return b" 200 " in client.recv(64)
    return False


def _ask(url: str, token: str, body: dict[str, object] | None = None, method: str | None = None) -> dict[str, object]:
    request = urllib.request.Request(
        url,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        method=method or ("GET" if body is None else "POST"),
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        told: dict[str, object] = json.loads(answer.read() or b"{}")
    return told


def _platform_cpu(up: psutil.Process, without: Collection[int] = ()) -> float:
    """Everything that `make up` started, but for workspaces: they are its descendants too, and it reaps them."""
    others = [each for each in up.children(recursive=True) if each.pid not in without]
    return _own(up) + sum(map(_cpu_of, others))


def _own(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _cpu_of(process: psutil.Process) -> float:
    """A process and what it has reaped."""
    with contextlib.suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0


def _of_workload(workload_id: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("STEELYARD_WORKLOAD") == workload_id:
                found.append(process)
    return found


def _until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError("It did not come to pass in time.")
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
