"""Arrays: what may be asked for, and whole lives of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from billing.models import UsageSession
from provisioning.drivers.base import Phase
from provisioning.enums import State
from provisioning.jobs import Next, job_of, nonsense, parameters_of, what_follows
from provisioning.models import Attempt, Task
from provisioning.services import wishes
from provisioning.types import ArraySpec, JobSpec
from tenants.models import QuotaHold
from tests.provisioning.stage import NOON, fresh, launch, settle, turn, why, wish

SWEEP = (("LR", ("0.1", "0.01")), ("SEED", ("1", "2", "3")))
ARRAY = ArraySpec(count=6, parallelism=2, sweep=SWEEP)
JOB = JobSpec(("python", "train.py"), retries=1, array=ARRAY)


class TestSpec:
    def test_is_stored_whole(self):
        assert job_of(JOB.as_json()) == JOB

    def test_of_a_sweep_has_a_task_for_each_combination(self):
        asked = {"command": ["x"], "array": {"sweep": {"SEED": ["1", "2", "3"], "LR": ["0.1", "0.01"]}}}

        job = job_of(asked)

        assert job is not None
        assert job.array == ArraySpec(count=6, parallelism=1, sweep=SWEEP)

    def test_the_last_variable_turns_fastest(self):
        told = [tuple(parameters_of(SWEEP, index).values()) for index in range(6)]

        assert told == [("0.1", "1"), ("0.1", "2"), ("0.1", "3"), ("0.01", "1"), ("0.01", "2"), ("0.01", "3")]

    def test_takes_no_more_of_its_shape_than_it_has_tasks(self):
        assert replace(JOB, array=ArraySpec(count=3, parallelism=8)).replicas == 3

    @pytest.mark.parametrize(
        ("job", "array", "field"),
        [
            ({"workers": 2}, {}, "job.workers"),
            ({"success_codes": (0, 3)}, {}, "job.success_codes"),
            ({}, {"count": 7}, "job.array.count"),
            ({}, {"count": 0, "sweep": ()}, "job.array.count"),
            ({}, {"count": 1001, "sweep": ()}, "job.array.count"),
            ({}, {"parallelism": 0}, "job.array.parallelism"),
            ({}, {"parallelism": 257}, "job.array.parallelism"),
            ({}, {"count": 1, "sweep": (("1A", ("x",)),)}, "job.array.sweep"),
            ({}, {"count": 1, "sweep": (("RANK", ("x",)),)}, "job.array.sweep"),
            ({}, {"count": 1, "sweep": (("STEELYARD_X", ("x",)),)}, "job.array.sweep"),
            ({}, {"count": 1, "sweep": (("A", ("x\ny",)),)}, "job.array.sweep"),
            ({}, {"count": 1, "sweep": (("A", ("x" * 16_385,)),)}, "job.array.sweep"),
            ({}, {"count": 1, "sweep": tuple((f"A{n}", ("x",)) for n in range(17))}, "job.array.sweep"),
        ],
    )
    def test_that_cannot_be_meant_names_its_field(self, job, array, field):
        asked = replace(JOB, **job, array=replace(ARRAY, **array))

        assert [each.field for each in nonsense(asked)] == [field]

    def test_is_never_tried_again_as_a_whole(self):
        assert what_follows(JOB, exit_code=1, failures=0) is Next.FAIL
        assert what_follows(JOB, exit_code=0, failures=0) is Next.DONE


@pytest.fixture
def running(aurora, clock, machine, shop):
    return settle(aurora, launch(aurora, kind="job", job=JOB), machine, clock, seconds=3)


def told(tenant):
    with tenant.scope():
        rows = Task.objects.order_by("index")
        return [(row.index, row.outcome, row.exit_code, row.failures, row.log) for row in rows]


@pytest.mark.django_db
class TestLife:
    def test_holds_and_weighs_as_many_as_run_at_once_until_the_last_has_ended(self, aurora, clock, machine, running):
        with aurora.scope():
            held = {hold.resource: hold.amount for hold in QuotaHold.objects.all()}
        assert (running.state, running.replicas, held["accelerators/H100"]) == (State.RUNNING, 2, 2)

        for index in range(6):
            machine.task(running.pk, index, Phase.SUCCEEDED, 0)
        clock.now = NOON + timedelta(hours=1)
        machine.ends(running.pk, 0)
        done = settle(aurora, running, machine, clock)

        assert (done.state, why(done)) == (State.SUCCEEDED, "completed")
        assert told(aurora) == [(index, "succeeded", 0, 0, [f"task {index}"]) for index in range(6)]
        with aurora.scope():
            session = UsageSession.objects.get(component="accelerator")
            assert session.during.upper - session.during.lower == timedelta(hours=1)
            assert session.quantity_micro == 2_000_000
            assert {hold.resource for hold in QuotaHold.objects.all()} == {"storage_gib"}

    def test_what_its_tasks_do_is_noted_while_it_runs(self, aurora, clock, machine, running):
        machine.task(running.pk, 0, Phase.SUCCEEDED, 0)
        machine.task(running.pk, 1, Phase.STARTING, 1, failures=1)
        machine.task(running.pk, 2, Phase.RUNNING)
        clock.pass_(seconds=10)
        turn(aurora, running, machine, clock)

        assert told(aurora) == [
            (0, "succeeded", 0, 0, ["task 0"]),
            (1, "waiting", 1, 1, []),
            (2, "running", None, 0, []),
        ]

    def test_a_task_that_fails_fails_it_when_all_have_ended_and_a_start_runs_what_is_not_done(
        self, aurora, clock, machine, running
    ):
        for index in range(6):
            machine.task(running.pk, index, Phase.SUCCEEDED if index != 4 else Phase.FAILED, 0 if index != 4 else 3)
        machine.ends(running.pk, 3)
        failed = settle(aurora, running, machine, clock)
        assert (failed.state, why(failed), machine.starts) == (State.FAILED, "tasks_failed", 1)
        assert failed.reason is not None
        assert failed.reason["message"] == "1 of 6 tasks failed, task 4 first (exit code 3)."

        wish(aurora, "alice", wishes.start, failed, clock.now)
        settle(aurora, failed, machine, clock, seconds=3)

        run = machine.asked[-1].array
        assert run is not None
        assert (run.tasks, run.taken) == ((4,), frozenset({0, 1, 2, 3, 5}))
        machine.task(running.pk, 4, Phase.SUCCEEDED, 0)
        machine.ends(running.pk, 0)
        assert settle(aurora, failed, machine, clock).state == State.SUCCEEDED
        assert [row[:2] for row in told(aurora)] == [(index, "succeeded") for index in range(6)]

    def test_an_interruption_runs_again_what_was_not_done(self, aurora, clock, machine, running):
        machine.task(running.pk, 0, Phase.SUCCEEDED, 0)
        machine.task(running.pk, 1, Phase.RUNNING)
        clock.pass_(seconds=10)
        turn(aurora, running, machine, clock)
        machine.crash(running.pk, code="platform_stopped", phase=Phase.STOPPED)
        again = settle(aurora, running, machine, clock)

        run = machine.asked[-1].array
        assert run is not None
        assert (again.state, again.failures, run.tasks) == (State.RUNNING, 0, (1, 2, 3, 4, 5))
        assert [row[:2] for row in told(aurora)] == [(0, "succeeded"), (1, "interrupted")]
        with aurora.scope():
            assert list(Attempt.objects.order_by("number").values_list("outcome", flat=True)) == [
                "interrupted",
                "running",
            ]

    def test_a_stop_ends_what_runs(self, aurora, clock, machine, running):
        machine.task(running.pk, 0, Phase.RUNNING)
        clock.pass_(seconds=10)
        turn(aurora, running, machine, clock)
        wish(aurora, "alice", wishes.stop, running, clock.now)

        assert settle(aurora, running, machine, clock).state == State.STOPPED
        assert [row[:2] for row in told(aurora)] == [(0, "stopped")]
        assert fresh(aurora, running).failures == 0
