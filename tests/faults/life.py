"""One workload among workers that die, and what must hold for it however they died."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path

from django.utils import timezone

from billing.models import UsageSession
from core.models import AuditEvent
from provisioning.drivers.base import Observation
from provisioning.drivers.local import places, procfs
from provisioning.drivers.local.driver import LocalDriver
from provisioning.drivers.local.launch import MARKER
from provisioning.enums import State
from provisioning.models import Event, Workload
from provisioning.selectors.specs import spec_of
from provisioning.services import wishes
from tests.faults.jobs import Job, Outcome
from tests.faults.workers import Workers
from tests.house import Tenant
from tests.provisioning.stage import fresh, launch, wish
from tests.provisioning.test_invariants import check_that_all_agree

DYING_LEASE = 0.05
STARTED = ["workload.admitted", "workload.running"]
LIFE = [
    ("create", State.RUNNING, ["workload.launched", *STARTED]),
    ("stop", State.STOPPED, ["workload.stop_requested", "workload.stopped"]),
    ("start", State.RUNNING, ["workload.start_requested", *STARTED]),
    ("delete", State.DELETED, ["workload.delete_requested", "workload.deleted"]),
]


class Life:
    """A workload of Alice's. `runs`: each run of it as the driver told it last, oldest first."""

    def __init__(self, tenant: Tenant, workers: Workers, driver: LocalDriver) -> None:
        self.tenant = tenant
        self.workers = workers
        self.driver = driver
        self.row: Workload = launch(tenant, now=timezone.now())
        self.runs: dict[str, Observation] = {}

    @property
    def home(self) -> Path:
        return places.volume_of(self.row.project_id, self.row.volume_id, self.driver.config)

    def wish(self, name: str) -> None:
        if name != "create":
            wish(self.tenant, "alice", getattr(wishes, name), self.row, timezone.now())

    def work(self, until: State, *, fatal: int) -> Outcome:
        """A worker that is killed before its n-th effect, unless it reaches the state first."""
        return self.workers.do(self.job(until, fatal=fatal, lease=DYING_LEASE))[0]

    def rescue(self, until: State) -> None:
        """The sweep of another worker goes on with what it finds."""
        self.workers.do(self.job(until, sweeps=True))
        row = fresh(self.tenant, self.row)
        assert row.state == until, f"{row.state} {row.reason}, not {until}: {self.workers.log.read_text()[-2000:]}"

    def job(self, until: State, *, fatal: int = 0, sweeps: bool = False, lease: float = 30.0) -> Job:
        return Job(str(self.row.organization_id), str(self.row.pk), until.value, fatal, sweeps, lease)

    def look(self) -> Observation:
        with self.tenant.scope():
            row = Workload.objects.select_related("shape__accelerator", "image", "volume").get(pk=self.row.pk)
            spec = spec_of(row)
        seen = self.driver.observe(spec)
        if seen.incarnation is not None and seen.started_at is not None:
            self.runs[seen.incarnation] = seen
        return seen

    def check(self) -> None:
        """State, quota, capacity, processes and charges agree, whatever the state is."""
        row = fresh(self.tenant, self.row)
        self.look()
        check_that_all_agree(self.tenant)
        lives = row.state == State.RUNNING
        assert len(self.processes()) == lives
        assert not (self.home / "twice").exists()
        assert self.charged("accelerator") == [(run.started_at, run.ended_at) for run in self.runs.values()]
        assert (row.lease_token, row.observed_generation) == (None, row.generation)

    def processes(self) -> list[procfs.Process]:
        return procfs.marked_with(f"{MARKER}={self.row.pk}")

    def charged(self, component: str) -> list[tuple[datetime, datetime | None]]:
        with self.tenant.scope():
            rows = UsageSession.objects.filter(workload_id=self.row.pk, component=component).order_by("during")
            return [(row.during.lower, row.during.upper) for row in rows]

    def check_history(self, verbs: list[str]) -> None:
        """Each act is in the chain once, and on the timeline in its order. `bound` depends on how fast a start is."""
        with self.tenant.scope():
            chain = AuditEvent.objects.filter(object_id=str(self.row.pk)).order_by("id")
            acts = Counter(chain.values_list("act_id", flat=True))
            written = list(chain.values_list("verb", flat=True))
            lines = list(Event.objects.filter(workload=self.row).order_by("id").values_list("code", "at"))
        assert set(acts.values()) == {1}
        assert [verb for verb in written if verb != "workload.bound"] == verbs
        assert [code for code, _ in lines] == written
        assert [at for _, at in lines] == sorted(at for _, at in lines)
