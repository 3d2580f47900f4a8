from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from portal.up.leftovers import MARK, end_leftovers
from portal.up.ports import free_port, is_free
from tests.up.stand_in import make_project

REPOSITORY = Path(__file__).resolve().parent.parent.parent
_START = "import sys; from pathlib import Path; from portal.up.main import main; sys.exit(main(Path(sys.argv[1])))"
_GIVEN = ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL")


class StandIn:
    """A stand-in project with a state folder of its own, started and ended as a person would."""

    def __init__(self, folder: Path) -> None:
        self.root = make_project(folder / "project")
        self.state = folder / "state"
        self.output = folder / "output.txt"
        self.port = _free_pair()
        self.given: dict[str, str] = {}
        self.up: subprocess.Popen[bytes] | None = None

    @property
    def installation(self) -> dict[str, Any]:
        """Empty where there is none."""
        path = self.state / "installation.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found

    @property
    def commands(self) -> list[str]:
        return (self.state / "commands.txt").read_text().splitlines()

    def start(self) -> None:
        """Until the installation file is there that *this* start wrote."""
        pid = self.begin().pid
        self.wait_until(lambda: self.installation.get("pids", {}).get("up") == pid)

    def begin(self) -> subprocess.Popen[bytes]:
        with self.output.open("wb") as output:
            self.up = subprocess.Popen(
                [sys.executable, "-c", _START, str(self.root)],
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self.up

    def refused(self, before: Sequence[str] = ()) -> str:
        """What a start says that must not succeed: one line, non-zero exit. `before` precedes its own words."""
        done = subprocess.run(
            [*before, sys.executable, "-c", _START, str(self.root)],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode != 0
        assert "Traceback" not in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        return done.stderr.strip()

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        assert self.up is not None
        self.up.send_signal(number)
        return self.up.wait(60)

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in _GIVEN}
        return kept | {
            "PYTHONPATH": str(REPOSITORY),
            "STEELYARD_STATE": str(self.state),
            "STEELYARD_PORT": str(self.port),
            **self.given,
        }

    def wait_until(self, ready, seconds: float = 90) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            assert self.up is not None
            assert self.up.poll() is None, self.output.read_text()
            assert time.monotonic() < deadline, self.output.read_text()
            time.sleep(0.05)

    def processes(self) -> list[int]:
        """All that belong to this installation, found by its mark, its folder or its place in the tree."""
        mark = json.loads((self.state / "secrets.json").read_text())["installation_id"]
        return [process.pid for process in psutil.process_iter() if _belongs(process, mark, str(self.state))]

    def clean(self) -> None:
        if self.up is not None and self.up.poll() is None:
            self.up.kill()
            self.up.wait()
        secrets = self.state / "secrets.json"
        if secrets.exists():
            end_leftovers(
                installation_id=json.loads(secrets.read_text())["installation_id"],
                records=self.state / "processes",
                server_folders=[self.state / "postgres" / "data", self.state / "valkey"],
            )


@pytest.fixture
def stand_in():
    folder = Path(tempfile.mkdtemp(prefix="steelyard-up-"))
    folder.chmod(0o711)
    installation = StandIn(folder)
    yield installation
    installation.clean()
    shutil.rmtree(folder)


def _belongs(process: psutil.Process, mark: str, state: str) -> bool:
    try:
        return process.environ().get(MARK) == mark or process.cwd().startswith(state)
    except psutil.Error:
        return False


def _free_pair() -> int:
    while True:
        port = free_port()
        if port < 65_000 and is_free(port + 1):
            return port
