"""Row b3: CPU per proxied, authenticated request, ours beside configurable-http-proxy.

Both stand before the same workspace and are loaded in turns by wrk with the headers of a browser. What counts is user
and system time of the proxy's whole process tree, divided by the requests that were answered. Ours checks the cookie,
the verdict and the origin, filters cookies and headers and writes an access log; the peer checks nothing.

`python -m bench.proxy [--rounds 5] [--seconds 4]` prints one JSON row. npm fetches the peer into a folder of the
temporary directory and finds it there the next time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from bench.proxy_ours import COOKIE, LABEL

PEER = "configurable-http-proxy@5.3.0"
HOST = f"{LABEL}.localhost"
PATH = "/api/contents?content=1"
BROWSER = (
    f"Host: {HOST}",
    f"Cookie: _xsrf=2|8e1f; steelyard_workspace={COOKIE}; username-8888=alice",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36",
    "Accept: application/json, text/plain, */*",
    "Accept-Encoding: gzip, deflate, br",
    "Accept-Language: en-GB,en;q=0.9",
    "Content-Type: application/json",
    f"Referer: http://{HOST}/lab",
    "Sec-Fetch-Dest: empty",
    "Sec-Fetch-Mode: cors",
    "Sec-Fetch-Site: same-origin",
    "X-XSRFToken: 2|8e1f",
)
CONNECTIONS = 16
WARM_SECONDS = 6  # the peer's just-in-time compiler needs some seconds; neither side is measured before


@dataclass
class Side:
    name: str
    process: psutil.Process
    port: int
    costs: list[float]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="Row b3")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    options = parser.parse_args(arguments)
    print(json.dumps(compare(options.rounds, options.seconds)))


def compare(rounds: int, seconds: int) -> dict[str, object]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="steelyard-bench-")))
        workspace, path = free_port(), folder / "w.sock"
        stack.enter_context(
            running([sys.executable, "-m", "bench.proxy_workspace", str(workspace), str(path)], workspace)
        )
        tcp, unix = {"host": "127.0.0.1", "port": workspace}, {"unix_socket": str(path)}
        sides = [
            stack.enter_context(ours("ours", tcp)),
            stack.enter_context(peer("peer", workspace)),
            stack.enter_context(ours("ours_unix_socket", unix)),
        ]
        for side in sides:
            burst(side, WARM_SECONDS)
        for _ in range(rounds):
            for side in sides:
                side.costs.append(burst(side, seconds))
    return row(sides)


def row(sides: Sequence[Side]) -> dict[str, object]:
    cost = {side.name: round(median(side.costs), 4) for side in sides}
    return {
        "row": "b3",
        "unit": "CPU ms per request, process tree",
        **cost,
        "ratio": round(cost["ours"] / cost["peer"], 3),
        "rounds": {side.name: [round(one, 4) for one in side.costs] for side in sides},
    }


def burst(side: Side, seconds: int) -> float:
    """CPU milliseconds per answered request during one run of wrk."""
    before = cpu_seconds(side.process)
    headers = [word for header in BROWSER for word in ("-H", header)]
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", *headers, f"http://127.0.0.1:{side.port}{PATH}"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    spent = cpu_seconds(side.process) - before
    answered = re.search(r"(\d+) requests in", told)
    if answered is None or "Non-2xx" in told or "Socket errors" in told:
        raise RuntimeError(f"{side.name} did not answer properly:\n{told}")
    return spent * 1000 / int(answered[1])


def cpu_seconds(process: psutil.Process) -> float:
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    return sum(one.user + one.system + one.children_user + one.children_system for one in times)


@contextmanager
def ours(name: str, where: Mapping[str, object]) -> Iterator[Side]:
    port = free_port()
    with running([sys.executable, "-m", "bench.proxy_ours", str(port), json.dumps(where)], port) as process:
        yield Side(name, process, port, [])


@contextmanager
def peer(name: str, workspace: int) -> Iterator[Side]:
    port, api_port, token = free_port(), free_port(), "bench-only"
    command = ["node", str(peer_program()), "--ip", "127.0.0.1", "--port", str(port), "--host-routing"]
    command += ["--api-ip", "127.0.0.1", "--api-port", str(api_port)]
    with running(command, port, CONFIGPROXY_AUTH_TOKEN=token) as process:
        request = urllib.request.Request(
            f"http://127.0.0.1:{api_port}/api/routes/{HOST}",
            data=json.dumps({"target": f"http://127.0.0.1:{workspace}"}).encode(),
            headers={"Authorization": f"token {token}"},
        )
        with urllib.request.urlopen(request, timeout=5):
            yield Side(name, process, port, [])


def peer_program() -> Path:
    folder = Path(tempfile.gettempdir()) / "steelyard-bench-peer"
    program = folder / "node_modules" / "configurable-http-proxy" / "bin" / "configurable-http-proxy"
    if not program.exists():
        folder.mkdir(exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), PEER]
        subprocess.run(command, check=True)
    return program


@contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[psutil.Process]:
    """A process whose port answers; ended on the way out. Its output is thrown away, not left unwritten."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | environment)
    try:
        wait_for(port)
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def wait_for(port: int) -> None:
    until = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main(sys.argv[1:])
