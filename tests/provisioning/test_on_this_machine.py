"""The real local driver behind the reconciler: real processes, a real clock, and workers that die at every step."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from billing.models import UsageSession
from provisioning.drivers.base import WorkloadDriver
from provisioning.drivers.local import places
from provisioning.drivers.local.driver import LocalDriver
from provisioning.drivers.registry import using
from provisioning.enums import State
from provisioning.models import Cluster, Event
from provisioning.reconciler import sweeping
from provisioning.selectors.specs import spec_of
from provisioning.selectors.workloads import workload_for
from provisioning.services import wishes
from tenants.models import QuotaHold
from tests.drivers.rig import LocalRig, config_in, stand_in
from tests.provisioning.stage import fresh, launch, why, wish

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("shop", "quick")]


@pytest.fixture
def quick(settings):
    times = {"LEASE": 0.3, "POLL_EVERY": 0.02, "START_DEADLINE": 20, "STOP_DEADLINE": 20}
    settings.STEELYARD = {**settings.STEELYARD, **{name: timedelta(seconds=each) for name, each in times.items()}}


@pytest.fixture
def local(tmp_path):
    rig = LocalRig(LocalDriver(replace(config_in(tmp_path), images={"jupyterlab": stand_in()})))
    yield rig.driver
    rig.end_everything()


class Died(BaseException):
    """kill -9: nothing catches it, nothing is written after it."""


class Mortal:
    """A driver whose worker dies at one call, before or after the driver did its work."""

    def __init__(self, driver: WorkloadDriver, call: str, *, after: bool) -> None:
        self._driver, self._call, self._after = driver, call, after
        self.died = False

    def __getattr__(self, name: str) -> object:
        real = getattr(self._driver, name)
        if name != self._call or self.died:
            return real

        def die(*arguments):
            self.died = True
            if self._after:
                real(*arguments)
            raise Died

        return die


def sweep_until(tenant, workload, driver, state, *, seconds=20.0):
    """Sweep as beat does, with workers that may die, until a state is reached."""
    deadline = time.monotonic() + seconds
    while (row := fresh(tenant, workload)).state != state:
        assert time.monotonic() < deadline, f"{row.state} {row.reason}, not {state}"
        try:
            sweeping.sweep_workloads(drivers=lambda _: driver, clock=timezone.now)
        except Died:
            continue
        time.sleep(0.02)
    return row


def weighed(tenant, component="accelerator"):
    with tenant.scope():
        return [
            (row.during.lower, row.during.upper)
            for row in UsageSession.objects.filter(component=component).order_by("during")
        ]


def run_of(tenant, workload, driver):
    with tenant.scope():
        row = workload_for(tenant.actor("alice"), workload.pk)
        spec = spec_of(row)
    return driver.observe(spec)


class TestRealProcesses:
    def test_what_is_billed_is_what_the_process_held_to_the_microsecond(self, aurora, local):
        workload = launch(aurora, now=timezone.now())
        sweep_until(aurora, workload, local, State.RUNNING)
        wish(aurora, "alice", wishes.stop, workload, timezone.now())
        sweep_until(aurora, workload, local, State.STOPPED)

        run = run_of(aurora, workload, local)
        assert weighed(aurora) == [(run.started_at, run.ended_at)]

    def test_a_server_that_cannot_start_says_so_with_its_last_lines(self, aurora, local):
        workload = launch(aurora, now=timezone.now())
        home = places.volume_of(workload.project_id, workload.volume_id, local.config)
        home.mkdir(parents=True)
        (home / "crash").touch()

        failed = sweep_until(aurora, workload, local, State.FAILED)

        with aurora.scope():
            event = Event.objects.get(workload=workload, code="workload.failing")
            assert {hold.resource for hold in QuotaHold.objects.all()} <= {"storage_gib"}
        assert why(failed)
        assert event.details["log"][-1] == "the last word"
        (home / "crash").unlink()
        wish(aurora, "alice", wishes.start, workload, timezone.now())
        sweep_until(aurora, workload, local, State.RUNNING)

    def test_files_survive_stop_and_start(self, aurora, local):
        workload = launch(aurora, now=timezone.now())
        sweep_until(aurora, workload, local, State.RUNNING)
        file = places.volume_of(workload.project_id, workload.volume_id, local.config) / "notes.txt"
        file.write_text("mine")
        wish(aurora, "alice", wishes.stop, workload, timezone.now())
        sweep_until(aurora, workload, local, State.STOPPED)
        wish(aurora, "alice", wishes.start, workload, timezone.now())
        sweep_until(aurora, workload, local, State.RUNNING)

        assert file.read_text() == "mine"
        assert len(weighed(aurora)) == 2


class TestWorkersThatDie:
    @pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
    @pytest.mark.parametrize("call", ["ensure_present", "observe", "ensure_stopped", "ensure_absent"])
    def test_it_converges_and_bills_what_was_held(self, aurora, local, call, after):
        driver = Mortal(local, call, after=after)
        workload = launch(aurora, now=timezone.now())
        sweep_until(aurora, workload, driver, State.RUNNING)
        wish(aurora, "alice", wishes.stop, workload, timezone.now())
        sweep_until(aurora, workload, driver, State.STOPPED)
        run = run_of(aurora, workload, driver if driver.died else local)
        wish(aurora, "alice", wishes.delete, workload, timezone.now())
        sweep_until(aurora, workload, driver, State.DELETED)

        assert weighed(aurora) == [(run.started_at, run.ended_at)]
        assert all(end for _, end in weighed(aurora, "disk"))
        with aurora.scope():
            assert not QuotaHold.objects.exists()
        assert set(Cluster.objects.get().used.values()) <= {0}
        assert local.strays(()) == ()


class TestPlatformStop:
    def test_ends_what_runs_at_its_real_exit_and_the_next_start_brings_it_back(self, aurora, local):
        workload = launch(aurora, now=timezone.now())
        waiting = launch(aurora, shape="cpu-4", now=timezone.now())
        wish(aurora, "alice", wishes.stop, waiting, timezone.now())
        sweep_until(aurora, workload, local, State.RUNNING)

        with using("local", local):
            call_command("end_workspaces", stdout=(said := StringIO()))

        row = fresh(aurora, workload)
        run = run_of(aurora, workload, local)
        assert (row.state, row.desired_state, why(row)) == (State.STOPPED, "running", "platform_stopped")
        assert weighed(aurora) == [(run.started_at, run.ended_at)]
        assert said.getvalue() == "Ended 1 workspace.\n"

        sweep_until(aurora, workload, local, State.RUNNING)
        assert fresh(aurora, waiting).state == State.STOPPED
