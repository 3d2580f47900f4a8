"""Jobs: what follows the end of an attempt, and whole lives of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from billing.models import UsageSession
from core.errors import Invalid
from provisioning.drivers.base import Phase, Reason
from provisioning.enums import State
from provisioning.jobs import Next, back_off, job_of, nonsense, what_follows
from provisioning.models import Allocation, Attempt
from provisioning.services import wishes
from provisioning.services.activity import take_in
from provisioning.types import JobSpec
from tenants.models import QuotaHold
from tests.provisioning.stage import NOON, fresh, launch, settle, turn, why, wish

JOB = JobSpec(("python", "train.py"), retries=2, fatal_codes=(2,), success_codes=(0, 9))


class TestWhatFollows:
    @pytest.mark.parametrize(
        ("exit_code", "failures", "follows"),
        [
            (0, 0, Next.DONE),
            (9, 2, Next.DONE),
            (1, 0, Next.RETRY),
            (1, 1, Next.RETRY),
            (1, 2, Next.FAIL),
            (2, 0, Next.FAIL),
            (137, 0, Next.RETRY),
            (None, 0, Next.RETRY),
            (None, 2, Next.FAIL),
        ],
    )
    def test_an_end(self, exit_code, failures, follows):
        assert what_follows(JOB, exit_code=exit_code, failures=failures) is follows

    def test_the_pauses_double_and_are_bounded(self):
        assert [back_off(n).total_seconds() for n in (1, 2, 3, 6, 7, 20)] == [10, 20, 40, 320, 600, 600]


class TestSpec:
    def test_is_stored_whole(self):
        job = replace(JOB, workers=4, max_duration=timedelta(hours=2))

        assert job_of(job.as_json()) == job
        assert job_of(None) is None

    def test_is_one_worker_tried_once_that_is_done_with_0_where_nothing_else_is_said(self):
        assert job_of({"command": ["python"]}) == JobSpec(("python",), workers=1, retries=0, success_codes=(0,))

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"command": ()}, "job.command"),
            ({"command": (" ",)}, "job.command"),
            ({"command": ("x",) * 201}, "job.command"),
            ({"command": ("a\0b",)}, "job.command"),
            ({"workers": 0}, "job.workers"),
            ({"workers": 257}, "job.workers"),
            ({"retries": 21}, "job.retries"),
            ({"max_duration": timedelta(seconds=9)}, "job.max_duration_seconds"),
            ({"max_duration": timedelta(days=91)}, "job.max_duration_seconds"),
            ({"success_codes": ()}, "job.success_codes"),
            ({"fatal_codes": (256,)}, "job.fatal_codes"),
            ({"fatal_codes": (0,)}, "job.fatal_codes"),
        ],
    )
    def test_that_cannot_be_meant_names_its_field(self, change, field):
        assert [each.field for each in nonsense(replace(JOB, **change))] == [field]


def a_job(tenant, **changes):
    return launch(tenant, kind="job", job=replace(JOB, **changes))


def attempts(tenant):
    with tenant.scope():
        return list(Attempt.objects.order_by("number").values_list("number", "outcome", "exit_code"))


@pytest.mark.django_db
@pytest.mark.usefixtures("shop")
class TestLife:
    def test_done_is_succeeded_and_weighed_to_its_real_end(self, aurora, clock, machine):
        job = a_job(aurora)
        assert settle(aurora, job, machine, clock, seconds=3).state == State.RUNNING

        clock.now = NOON + timedelta(hours=1)
        machine.ends(job.pk, 0)
        done = settle(aurora, job, machine, clock)

        assert (done.state, done.desired_state, why(done)) == (State.SUCCEEDED, "stopped", "completed")
        assert attempts(aurora) == [(1, "succeeded", 0)]
        with aurora.scope():
            assert Attempt.objects.get().log == ["line"]
            session = UsageSession.objects.get(component="accelerator")
            assert session.during.upper - session.during.lower == timedelta(hours=1)
            assert {hold.resource for hold in QuotaHold.objects.all()} == {"storage_gib"}

    def test_a_short_one_may_be_over_before_it_was_seen_running(self, aurora, clock, machine):
        machine.up_after = timedelta(seconds=5)
        job = a_job(aurora)
        turn(aurora, job, machine, clock)
        machine.ends(job.pk, 0)

        assert settle(aurora, job, machine, clock).state == State.SUCCEEDED

    def test_a_failure_is_tried_again_after_a_pause_and_in_the_end_fails(self, aurora, clock, machine):
        job = a_job(aurora)
        settle(aurora, job, machine, clock, seconds=2)
        began = clock.now
        machine.ends(job.pk, 1)
        waiting = settle(aurora, job, machine, clock, seconds=5)

        assert (waiting.state, waiting.desired_state, why(waiting)) == (State.STOPPED, "running", "retrying")
        assert waiting.retry_at is not None
        assert began <= waiting.retry_at - timedelta(seconds=10) <= clock.now
        assert machine.starts == 1
        assert settle(aurora, job, machine, clock, seconds=15).state == State.RUNNING
        for _ in range(2):
            machine.ends(job.pk, 1)
            settle(aurora, job, machine, clock, seconds=30)

        failed = fresh(aurora, job)
        assert (failed.state, failed.failures, machine.starts) == (State.FAILED, 2, 3)
        assert attempts(aurora) == [(1, "failed", 1), (2, "failed", 1), (3, "failed", 1)]

    def test_what_is_fatal_is_not_tried_again(self, aurora, clock, machine):
        job = a_job(aurora)
        settle(aurora, job, machine, clock, seconds=2)
        machine.ends(job.pk, 2)

        assert settle(aurora, job, machine, clock).state == State.FAILED
        assert machine.starts == 1

    def test_an_interruption_costs_no_retry(self, aurora, clock, machine):
        job = a_job(aurora, retries=0)
        settle(aurora, job, machine, clock, seconds=2)
        machine.crash(job.pk, code="evicted", phase=Phase.STOPPED)

        again = settle(aurora, job, machine, clock)

        assert (again.state, again.failures) == (State.RUNNING, 0)
        assert attempts(aurora) == [(1, "interrupted", None), (2, "running", None)]

    def test_somebody_who_starts_it_again_gives_it_all_its_tries(self, aurora, clock, machine):
        job = a_job(aurora, retries=1)
        settle(aurora, job, machine, clock, seconds=2)
        for _ in range(2):
            machine.ends(job.pk, 1)
            settle(aurora, job, machine, clock, seconds=30)
        assert fresh(aurora, job).state == State.FAILED

        wish(aurora, "alice", wishes.start, job, clock.now)
        again = settle(aurora, job, machine, clock)

        assert (again.state, again.failures, again.retry_at) == (State.RUNNING, 0, None)

    def test_stop_while_it_waits_to_be_tried_again_is_the_end(self, aurora, clock, machine):
        job = a_job(aurora)
        settle(aurora, job, machine, clock, seconds=2)
        machine.ends(job.pk, 1)
        settle(aurora, job, machine, clock, seconds=3)
        wish(aurora, "alice", wishes.stop, job, clock.now)

        assert settle(aurora, job, machine, clock, seconds=20).state == State.STOPPED
        assert machine.starts == 1

    def test_workers_count_in_quota_capacity_usage_and_price(self, aurora, clock, machine):
        job = a_job(aurora, workers=4)
        settle(aurora, job, machine, clock, seconds=2)

        with aurora.scope():
            holds = {hold.resource: hold.amount for hold in QuotaHold.objects.all()}
            taken = Allocation.objects.get(held_to=None).resources
            micro = UsageSession.objects.get(component="accelerator").quantity_micro
        assert (holds["accelerators/H100"], holds["vcpus"], holds["workloads"], holds["storage_gib"]) == (4, 64, 1, 10)
        assert taken == {"accelerators/H100": 4, "vcpus": 64, "memory_gib": 800}
        assert micro == 4_000_000

    def test_nobody_calls_it_idle_and_its_own_limit_ends_an_attempt(self, aurora, clock, machine):
        job = a_job(aurora, max_duration=timedelta(hours=300))
        settle(aurora, job, machine, clock, seconds=2)

        clock.pass_(hours=299)
        take_in(organization_id=aurora.organization.pk, workload_id=job.pk, signals=None, now=clock.now)
        assert fresh(aurora, job).state == State.RUNNING
        clock.pass_(hours=2)
        take_in(organization_id=aurora.organization.pk, workload_id=job.pk, signals=None, now=clock.now)
        ended = settle(aurora, job, machine, clock)

        assert (ended.state, why(ended)) == (State.FAILED, "lifetime")

    def test_what_never_ran_is_not_tried_again(self, aurora, clock, machine):
        machine.refuses = Reason("image_not_found", "There is no such image.")
        job = a_job(aurora)

        assert settle(aurora, job, machine, clock).state == State.FAILED
        assert attempts(aurora) == []

    @pytest.mark.parametrize(("kind", "job"), [("job", None), ("workspace", JOB)])
    def test_a_command_goes_with_a_job_and_with_nothing_else(self, aurora, kind, job):
        with pytest.raises(Invalid) as refused:
            launch(aurora, kind=kind, job=job)

        assert [each.field for each in refused.value.errors] == ["job"]
