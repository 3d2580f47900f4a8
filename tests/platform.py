"""The real platform, started with `manage.py up` in a folder of its own and ended without a trace."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from portal.up.leftovers import end_leftovers
from portal.up.ports import free_port, is_free

ROOT = Path(__file__).resolve().parent.parent
_START_SECONDS = 240.0
_END_SECONDS = 90.0
_INHERITED = frozenset({"PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "STEELYARD_WORKSPACE_VENV"})


@dataclass(slots=True)
class Platform:
    """One installation. Use `running()`; `start` and `end` by hand only where a test restarts it."""

    folder: Path
    port: int
    extra: Mapping[str, str] = field(default_factory=dict)
    up: subprocess.Popen[bytes] | None = None

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def output(self) -> Path:
        return self.folder / "up.txt"

    @property
    def installation(self) -> dict[str, Any]:
        """The installation file; empty where there is none."""
        path = self.state / "installation.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found

    @property
    def portal(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def proxy_port(self) -> int:
        return self.port + 1

    def person(self, name: str) -> dict[str, str]:
        """Address, password and token by the part before the @, such as "alice"."""
        found: dict[str, str] = next(
            person for person in self.installation["people"] if person["email"].partition("@")[0] == name
        )
        return found

    def api(self, name: str) -> httpx.Client:
        """The API as that person, by token. Close it, or use it as a context manager."""
        return httpx.Client(
            base_url=f"{self.portal}/api/v1/",
            headers={"Authorization": f"Bearer {self.person(name)['token']}"},
            timeout=30,
        )

    def manage(self, *words: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """A management command beside the running platform."""
        done = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), "--installation", str(self.state), *words],
            cwd=ROOT,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stderr or done.stdout
        return done

    def start(self) -> None:
        """Until it serves: the installation file of this start is there."""
        with self.output.open("ab") as output:
            up = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), "up"],
                cwd=ROOT,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.up = up
        wait_until(lambda: self._serves(up), seconds=_START_SECONDS, why=self._said)

    def end(self) -> int:
        """As Ctrl-C does; the exit status."""
        assert self.up is not None
        self.up.send_signal(signal.SIGINT)
        status = self.up.wait(_END_SECONDS)
        self.up = None
        return status

    def clean(self) -> None:
        """Whatever a failed test left: processes, then files."""
        if self.up is not None and self.up.poll() is None:
            try:
                self.end()
            except subprocess.TimeoutExpired:
                self.up.kill()
                self.up.wait()
        for home in (self.state, self.state / "home"):
            if (home / "secrets.json").exists():
                end_leftovers(
                    installation_id=json.loads((home / "secrets.json").read_text())["installation_id"],
                    records=home / "processes",
                    server_folders=[home / "postgres" / "data", home / "valkey"],
                )
        shutil.rmtree(self.folder, ignore_errors=True)

    def _serves(self, up: subprocess.Popen[bytes]) -> bool:
        assert up.poll() is None, self._said()
        return bool(self.installation.get("pids", {}).get("up") == up.pid)

    def _said(self) -> str:
        return self.output.read_text(errors="replace")

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in _INHERITED}
        return kept | {"STEELYARD_STATE": str(self.state), "STEELYARD_PORT": str(self.port), **self.extra}


@contextmanager
def running(extra: Mapping[str, str] | None = None) -> Iterator[Platform]:
    """A fresh installation that serves; `extra` goes into its environment."""
    platform = fresh(extra)
    try:
        platform.start()
        yield platform
    finally:
        platform.clean()


def fresh(extra: Mapping[str, str] | None = None) -> Platform:
    """An installation that has never been started. Its folder can be passed by other accounts, as a server's is."""
    folder = Path(tempfile.mkdtemp(prefix="steelyard-platform-"))
    folder.chmod(0o711)
    return Platform(folder, _three_free_ports(), extra or {})


def wait_until(ready: Callable[[], object], *, seconds: float, why: Callable[[], str] | None = None) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, why() if why else f"It did not happen within {seconds:.0f} s."
        time.sleep(0.2)


def _three_free_ports() -> int:
    """The first of three: portal, proxy, gateway."""
    while True:
        port = free_port()
        if port < 65_000 and is_free(port + 1) and is_free(port + 2):
            return port
