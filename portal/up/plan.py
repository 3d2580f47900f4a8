"""What one installation runs: the steps before, the processes, and the step after."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from portal.up.child import Spec
from portal.up.ports import LOOPBACK

QUEUES = "default,provisioning,celery"
_WEB_WORKERS = 2
_WEB_THREADS = 4
_TASK_PROCESSES = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """`root` holds manage.py; `web` and `owner` are the environments of either database role.

    Django's system checks judge code, which `make check` has done: no process repeats them at its start.
    """

    root: Path
    home: Path
    port: int
    web: Mapping[str, str]
    owner: Mapping[str, str]

    def migrate(self) -> Spec:
        return self._manage("migrate", "migrate", "--no-input", environment=self.owner)

    def collect_static(self) -> Spec:
        return self._manage("collectstatic", "collectstatic", "--no-input", "--verbosity=0")

    def seed_demo(self, credentials: Path) -> Spec:
        return self._manage("seed_demo", "seed_demo", "--credentials-file", str(credentials))

    def end_workspaces(self) -> Spec:
        return self._manage("end_workspaces", "end_workspaces")

    def processes(self) -> list[Spec]:
        """In the order in which they start."""
        return [self._web(), self._proxy(), self._worker(), self._beat(), self._watch()]

    def _web(self) -> Spec:
        words = ["--interface=wsgi", f"--host={LOOPBACK}", f"--port={self.port}", "--no-ws", "--respawn-failed-workers"]
        words += [f"--workers={min(_WEB_WORKERS, os.cpu_count() or 1)}", f"--blocking-threads={_WEB_THREADS}"]
        return self._python("web", "-m", "granian", *words, "--workers-kill-timeout=5", "portal.wsgi:application")

    def _proxy(self) -> Spec:
        return self._manage("proxy", "proxy", patience=15.0)

    def _worker(self) -> Spec:
        words = ["--pool=prefork", f"--concurrency={_TASK_PROCESSES}", f"--queues={QUEUES}", "--loglevel=INFO"]
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        return self._python("worker", "-m", "celery", "-A", "portal", "worker", *words, *quiet, patience=12.0)

    def _beat(self) -> Spec:
        schedule = self.home / "beat" / "schedule"
        return self._python(
            "beat", "-m", "celery", "-A", "portal", "beat", f"--schedule={schedule}", "--pidfile=", "--loglevel=WARNING"
        )

    def _watch(self) -> Spec:
        return self._manage("watch", "watch_clusters")

    def _manage(
        self, name: str, *words: str, environment: Mapping[str, str] | None = None, patience: float = 10.0
    ) -> Spec:
        words = (str(self.root / "manage.py"), *words, "--skip-checks")
        return self._python(name, *words, environment=environment, patience=patience)

    def _python(
        self, name: str, *words: str, environment: Mapping[str, str] | None = None, patience: float = 10.0
    ) -> Spec:
        return Spec(
            name=name,
            words=(sys.executable, *words),
            environment={**(self.web if environment is None else environment), "CELERY_SKIP_CHECKS": "1"},
            directory=self.root,
            patience=patience,
        )
