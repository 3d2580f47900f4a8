"""A whole platform whose processes are killed, and one workload of Alice's on it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import httpx

from provisioning.drivers.local import places, procfs, record
from provisioning.drivers.local.config import LocalConfig
from provisioning.drivers.local.launch import MARKER
from tests.platform import Platform, wait_until
from tests.up.person import DISK_GIB, IMAGE, SHAPE

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SOON = 90.0
T = TypeVar("T")


def kill(platform: Platform, names: Iterable[str]) -> None:
    """kill -9, all at the same moment. One that is just being started again is waited for."""
    wait_until(lambda: all(_lives(platform, name) for name in names), seconds=SOON, why=platform.output.read_text)
    pids = platform.installation["pids"]
    for name in names:
        os.kill(pids[name], signal.SIGKILL)


def back(platform: Platform, before: dict[str, int], names: Iterable[str]) -> None:
    """Until each has been started again, alone, and answers."""
    wait_until(
        lambda: all(platform.installation["pids"].get(name, before[name]) != before[name] for name in names),
        seconds=SOON,
        why=platform.output.read_text,
    )
    patiently(lambda: httpx.get(f"{platform.portal}/health/ready").raise_for_status())
    patiently(lambda: httpx.get(f"http://127.0.0.1:{platform.proxy_port}/_steelyard/health").raise_for_status())


def patiently(ask: Callable[[], T]) -> T:
    """The first answer: a request into a process that has just been killed is made again."""
    deadline = time.monotonic() + SOON
    while True:
        try:
            return ask()
        except httpx.HTTPError as error:
            if isinstance(error, httpx.HTTPStatusError) and error.response.status_code < 500:
                raise AssertionError(error.response.text) from error
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


class Workspace:
    def __init__(self, platform: Platform, name: str) -> None:
        self.platform = platform
        self.name = name
        wish = {"project": "aurora/vision", "kind": "workspace", "name": name, "shape": SHAPE, "image": IMAGE}
        self.id = self._post("workloads", {**wish, "disk_gib": DISK_GIB}, key=name)["id"]

    def ask(self, what: str) -> dict[str, Any]:
        return self._post(f"workloads/{self.id}/{what}", {}, key=f"{self.name}-{what}-{time.monotonic()}")

    def delete(self) -> None:
        with self.platform.api("alice") as api:
            patiently(lambda: api.delete(f"workloads/{self.id}").raise_for_status())

    def becomes(self, state: str) -> None:
        wait_until(lambda: self.read()["state"] == state, seconds=SOON, why=lambda: f"not {state}: {self.read()}")

    def read(self) -> dict[str, Any]:
        return self.get(f"workloads/{self.id}")

    def get(self, path: str, who: str = "alice") -> dict[str, Any]:
        with self.platform.api(who) as api:
            found: dict[str, Any] = patiently(lambda: api.get(path).raise_for_status()).json()
            return found

    def run(self) -> record.Record:
        """The driver's own record of the last run."""
        found = record.read(str(places.places_of(UUID(self.id), self._config()).run))
        assert found is not None
        return found

    def held(self) -> tuple[datetime | None, datetime | None]:
        run = self.run()
        return _instant(run.started_at), _instant(run.ended_at)

    def charged(self) -> list[tuple[datetime, datetime | None]]:
        rows = [
            each
            for each in self.get("usage-sessions?limit=100", "olivia")["results"]
            if each["workload"]["id"] == self.id and each["component"] == "accelerator"
        ]
        spans = [(datetime.fromisoformat(each["from"]), each["to"]) for each in rows]
        return sorted((start, datetime.fromisoformat(end) if end else None) for start, end in spans)

    def processes(self) -> list[procfs.Process]:
        return procfs.marked_with(f"{MARKER}={self.id}")

    def noted(self, name: str) -> int:
        """How often the lab wrote a line into that file of its home."""
        (home,) = (self._state() / "workspaces").glob(f"*/{self.run().volume}")
        return len((home / name).read_text().split()) if (home / name).exists() else 0

    def entered(self) -> tuple[str, dict[str, str]]:
        """Where its WebSocket is, and what a browser that has entered sends along."""
        url = urlsplit(self.ask("open")["url"])
        proxy = f"127.0.0.1:{self.platform.proxy_port}"
        answer = httpx.get(f"http://{proxy}{url.path}?{url.query}", headers={"Host": url.netloc})
        cookie = answer.headers["set-cookie"].partition(";")[0]
        return f"ws://{proxy}/echo", {"Host": url.netloc, "Origin": f"http://{url.netloc}", "Cookie": cookie}

    def _post(self, path: str, body: dict[str, Any], *, key: str) -> dict[str, Any]:
        with self.platform.api("alice") as api:
            api.headers["Idempotency-Key"] = key
            made: dict[str, Any] = patiently(lambda: api.post(path, json=body).raise_for_status()).json()
            return made

    def _config(self) -> LocalConfig:
        return LocalConfig(state_dir=self._state(), images={})

    def _state(self) -> Path:
        home = self.platform.state / "home"
        return (home if home.exists() else self.platform.state).resolve()


def _lives(platform: Platform, name: str) -> bool:
    pid = platform.installation["pids"].get(name)
    return pid is not None and procfs.process(pid) is not None


def _instant(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else EPOCH + timedelta(microseconds=microseconds)
