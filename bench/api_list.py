"""Rows e1 and e2: the API's list of 50 workloads, asked of the whole server in this process, as a token's client asks.

e1: CPU per request among 10,000 workloads, with roles and tenancy applied, beside `values()` + JSON on the same server
(same middleware, same columns, nobody asks who one is). e2: p50 with 500 → 500,000 workloads.

`python -m bench.api_list [--rounds 7] [--requests 60] [--most 500000]` prints one JSON row each.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median

from bench.scratch import scratch

LIST = "/api/v1/workloads"
FEW, MANY = 500, 10_000
Ask = Callable[..., bytes]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="Rows e1 and e2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--most", type=int, default=500_000)
    parser.add_argument("--house", type=int, help="be the server of one house of this many workloads (for e2)")
    options = parser.parse_args(arguments)
    if options.house:
        _answer_bursts(options.house)
        return
    with scratch():
        ask, tokens = _house(MANY)
        print(json.dumps(_against_the_floor(ask, tokens, options.rounds, options.requests)), flush=True)
    print(json.dumps(_as_it_grows(options.most, options.rounds, options.requests)), flush=True)


def _house(workloads: int) -> tuple[Ask, dict[str, str]]:
    """The server over a scratch database with that many workloads, and the tokens of its people."""
    ask = _server()
    scene = importlib.import_module("bench.api_scene")
    _, tokens = scene.people()
    scene.grow(1, workloads)
    return ask, tokens


def _against_the_floor(ask: Ask, tokens: Mapping[str, str], rounds: int, requests: int) -> dict[str, object]:
    peer = importlib.import_module("bench.api_peer").PEER
    tag = _etag(ask, tokens["alice"])
    sides: dict[str, Callable[[], bytes]] = {
        "peer": lambda: ask(peer),
        "ours": lambda: ask(LIST, token=tokens["alice"]),
        "ours_owner": lambda: ask(LIST, token=tokens["olivia"]),
        "ours_unchanged": lambda: ask(LIST, token=tokens["alice"], tag=tag),
    }
    costs: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        _cpu(side, requests)
    for _ in range(rounds):
        for name, side in sides.items():
            costs[name].append(_cpu(side, requests))
    cost = {name: round(median(found), 3) for name, found in costs.items()}
    return {
        "row": "e1",
        "unit": "CPU ms per request",
        **cost,
        "ratio": round(cost["ours"] / cost["peer"], 2),
        "workloads": MANY,
        "rounds": {name: [round(one, 3) for one in found] for name, found in costs.items()},
    }


def _as_it_grows(most: int, rounds: int, requests: int) -> dict[str, object]:
    """Two houses, each with a database of its own, are asked in turns."""
    with _another_house(FEW) as few, _another_house(most) as many:
        bursts = [(_burst(few, requests), _burst(many, requests)) for _ in range(rounds + 1)][1:]
    small, large = ({name: [pair[side][name] for pair in bursts] for name in bursts[0][0]} for side in (0, 1))
    p50 = {name: (round(median(small[name]), 3), round(median(large[name]), 3)) for name in small}
    return {
        "row": "e2",
        "unit": "ms, p50",
        "peer": p50["alice"][0],
        "ours": p50["alice"][1],
        "ratio": round(p50["alice"][1] / p50["alice"][0], 2),
        "owner": p50["olivia"],
        "workloads": [FEW, most],
        "rounds": {"few": small, "many": large},
    }


@contextmanager
def _another_house(workloads: int) -> Iterator[subprocess.Popen[str]]:
    """A process that serves bursts; it ends when its input does."""
    command = [sys.executable, "-m", "bench.api_list", "--house", str(workloads)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        _told(process)
        yield process
        process.stdin.close()


def _burst(house: subprocess.Popen[str], requests: int) -> dict[str, float]:
    assert house.stdin is not None
    house.stdin.write(f"{requests}\n")
    house.stdin.flush()
    return _told(house)


def _told(house: subprocess.Popen[str]) -> dict[str, float]:
    assert house.stdout is not None
    found: dict[str, float] = json.loads(house.stdout.readline())
    return found


def _answer_bursts(workloads: int) -> None:
    with scratch():
        ask, tokens = _house(workloads)
        print("{}", flush=True)
        for line in sys.stdin:
            print(json.dumps(_latencies(ask, tokens, int(line))), flush=True)


def _latencies(ask: Ask, tokens: Mapping[str, str], requests: int) -> dict[str, float]:
    """p50 in ms, by person."""
    found = {}
    for name, token in tokens.items():
        times = []
        for _ in range(requests):
            begun = time.perf_counter()
            ask(LIST, token=token)
            times.append(time.perf_counter() - begun)
        found[name] = round(median(times) * 1000, 3)
    return found


def _cpu(side: Callable[[], bytes], requests: int) -> float:
    """CPU milliseconds of this process per request."""
    begun = time.process_time()
    for _ in range(requests):
        side()
    return (time.process_time() - begun) * 1000 / requests


def _server() -> Ask:
    """The WSGI application as production runs it, with the peer's address beside ours."""
    settings = importlib.import_module("django.conf").settings
    settings.ROOT_URLCONF = "bench.api_peer"
    settings.API_RATE_LIMIT_PER_MINUTE = 10**9
    settings.API_REFUSES_FLOATS = False
    application = importlib.import_module("django.core.wsgi").get_wsgi_application()

    def ask(path: str, *, token: str = "", tag: str = "", headers: list[tuple[str, str]] | None = None) -> bytes:
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": path,
            "QUERY_STRING": "",
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "HTTP_HOST": "localhost",
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(),
            "wsgi.errors": sys.stderr,
        }
        if token:
            environ["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        if tag:
            environ["HTTP_IF_NONE_MATCH"] = tag
        response = application(environ, lambda _status, found: headers.extend(found) if headers is not None else None)
        body = b"".join(response)
        response.close()
        if response.status_code not in (200, 304):
            raise RuntimeError(f"{path} answered {response.status_code}: {body[:500]!r}")
        return body

    return ask


def _etag(ask: Ask, token: str) -> str:
    headers: list[tuple[str, str]] = []
    ask(LIST, token=token, headers=headers)
    return dict(headers)["ETag"]


if __name__ == "__main__":
    main(sys.argv[1:])
