"""Workers of the real platform in processes of their own, for tests to kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from tests.faults.jobs import Job, Outcome
from tests.isolation.web_role import web_login

ROOT = Path(__file__).resolve().parents[2]
BEGIN = "import sys, django; django.setup(); from tests.faults.nursery import main, Path; main(Path(sys.argv[1]))"


@dataclass(frozen=True)
class Workers:
    nursery: subprocess.Popen[str]
    log: Path

    def do(self, *jobs: Job) -> list[Outcome]:
        """All at once, each in a process of its own; what became of them."""
        assert self.nursery.stdin
        assert self.nursery.stdout
        self.nursery.stdin.write(json.dumps([asdict(job) for job in jobs]) + "\n")
        self.nursery.stdin.flush()
        answer = self.nursery.stdout.readline()
        assert answer, self.log.read_text()[-4000:]
        return [Outcome(died=died, effects=tuple(effects)) for died, effects in json.loads(answer)]


@contextmanager
def hired(folder: Path) -> Iterator[Workers]:
    """Workers whose local driver keeps its state in the folder. They log in as the web role, as in production."""
    login, log = web_login(), folder / "workers.txt"
    address = f"postgresql://{login.user}:{quote(login.password)}@{login.host}:{login.port}/{login.database}"
    with log.open("w") as output:
        nursery = subprocess.Popen(
            [sys.executable, "-c", BEGIN, str(folder)],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": address, "DJANGO_SETTINGS_MODULE": "portal.settings"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
        )
    try:
        yield Workers(nursery, log)
    finally:
        nursery.communicate()
