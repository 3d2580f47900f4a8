"""Stops by rule, on real rows: warned before, kept by one click, never on what is unknown."""

from __future__ import annotations

from datetime import timedelta

import pytest

from provisioning.drivers.base import ActivityReading, KernelActivity
from provisioning.drivers.places import LOCAL
from provisioning.enums import Rule, State
from provisioning.models import ActivitySample, Condition, Event, Workload
from provisioning.reconciler import sweeping
from provisioning.selectors.workloads import stop_forecast, timeline, workload_for
from provisioning.services import wishes
from tests.provisioning.stage import fresh, launch, settle, why, wish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shop")]


def probe(machine, clock):
    return sweeping.sweep_activity(drivers=lambda _: machine, clock=clock)


def reading(at, *, busy=False, last=None):
    return ActivityReading(
        at=at, kernels=(KernelActivity("python3", busy, last, 1),), terminals=(), connections=1, detached=0
    )


@pytest.fixture
def running(aurora, clock, machine):
    workload = launch(aurora)
    return settle(aurora, workload, machine, clock, seconds=2)


class TestIdleRule:
    def test_stops_an_idle_workload_after_an_hour_with_a_warning_before(self, aurora, clock, machine, running):
        started = running.bound_at
        clock.now = started + timedelta(minutes=50)
        machine.reading = reading(clock.now, last=started)
        probe(machine, clock)
        probe(machine, clock)
        with aurora.scope():
            assert Event.objects.filter(code="stop_warning").count() == 1
        assert fresh(aurora, running).state == State.RUNNING

        clock.now = started + timedelta(minutes=60)
        machine.reading = reading(clock.now, last=started)
        probe(machine, clock)
        stopped = settle(aurora, running, machine, clock)

        assert (stopped.state, why(stopped), stopped.desired_state) == (State.STOPPED, "idle", "stopped")

    def test_one_click_keeps_it(self, aurora, clock, machine, running):
        started = running.bound_at
        clock.now = started + timedelta(minutes=55)
        wish(aurora, "alice", wishes.extend, running, clock.now)
        clock.now = started + timedelta(minutes=65)
        machine.reading = reading(clock.now, last=started)

        probe(machine, clock)

        assert fresh(aurora, running).state == State.RUNNING

    def test_c5_unknown_never_stops_it_and_says_so(self, aurora, clock, machine, running):
        clock.now = running.bound_at + timedelta(hours=5)

        probe(machine, clock)

        assert fresh(aurora, running).state == State.RUNNING
        with aurora.scope():
            assert Condition.objects.get(type="activity").status == "unknown"
            assert ActivitySample.objects.get().verdict == "unknown"

    def test_c7_looking_at_it_for_two_hours_is_no_activity(self, aurora, clock, machine, running):
        before = running.last_activity_at
        for _ in range(100):
            clock.pass_(minutes=1.2)
            with aurora.scope():
                seen = workload_for(aurora.actor("alice"), running.pk)
                stop_forecast(seen)
                timeline(seen)

        assert fresh(aurora, running).last_activity_at == before

    def test_c8_says_when_by_which_rule_and_since_which_sign(self, aurora, clock, machine, running):
        worked = clock.pass_(minutes=20)
        machine.reading = reading(clock.pass_(minutes=1), last=worked)
        probe(machine, clock)

        with aurora.scope():
            coming = stop_forecast(Workload.objects.get(pk=running.pk))

        assert coming
        assert (coming.will_stop_at, coming.rule, coming.last_activity_at, coming.source) == (
            worked + timedelta(minutes=60),
            Rule.IDLE,
            worked,
            "kernel",
        )


class TestPace:
    def test_nobody_is_asked_before_the_rules_have_a_question(self, aurora, clock, machine, running):
        """Within an hour without work: at its start, in its middle, and each tick from the warning on."""
        asked = []
        while fresh(aurora, running).state == State.RUNNING:
            machine.reading = reading(clock.now, last=running.bound_at)
            if probe(machine, clock):
                asked.append(round((clock.now - running.bound_at).total_seconds() / 60))
            clock.pass_(seconds=60)

        assert asked == [0, 30, *range(50, 61)]


class TestLifetime:
    def test_c13_ends_at_the_first_tick_after_and_bills_to_the_real_stop(self, aurora, clock, machine, running):
        with aurora.scope():
            Workload.objects.filter(pk=running.pk).update(max_lifetime=timedelta(seconds=120))
        clock.now = running.bound_at + timedelta(seconds=120)
        machine.reading = reading(clock.now, busy=True)
        probe(machine, clock)
        assert fresh(aurora, running).state == State.RUNNING

        clock.pass_(seconds=10)
        machine.reading = reading(clock.now, busy=True)
        probe(machine, clock)
        stopped = settle(aurora, running, machine, clock)

        assert (stopped.state, why(stopped)) == (State.STOPPED, "lifetime")
        assert stopped.ended_at == running.bound_at + timedelta(seconds=130)


class TestStrays:
    def test_what_nobody_wishes_is_ended_and_what_is_wished_is_left(self, aurora, clock, machine, running):
        lost = launch(aurora, shape="cpu-4")
        settle(aurora, lost, machine, clock, seconds=2)
        with aurora.scope():
            lost_run = machine.runs[lost.pk]
        wish(aurora, "alice", wishes.delete, lost, clock.now)
        settle(aurora, lost, machine, clock)
        machine.runs[lost.pk] = lost_run

        ended = sweeping.sweep_strays(place=LOCAL, drivers=lambda _: machine, clock=clock)

        assert ended == 1
        assert (machine.living(lost.pk), machine.living(running.pk)) == (False, True)

    def test_a_cluster_that_does_not_answer_has_none_that_we_know_of(self, clock, machine):
        machine.down = True

        assert sweeping.sweep_strays(place=LOCAL, drivers=lambda _: machine, clock=clock) == 0


class TestSweep:
    def test_finds_what_no_hint_told_of(self, aurora, borealis, clock, machine):
        one, other = launch(aurora, shape="cpu-4"), launch(borealis, "charlie", project="drugs", shape="cpu-4")

        for _ in range(3):
            sweeping.sweep_workloads(drivers=lambda _: machine, clock=clock)
            clock.pass_(seconds=1)

        assert (fresh(aurora, one).state, fresh(borealis, other).state) == (State.RUNNING, State.RUNNING)

    def test_one_that_fails_does_not_keep_the_others_waiting(self, aurora, clock, machine):
        bad, good = launch(aurora, shape="cpu-4"), launch(aurora, shape="cpu-4")
        present = machine.ensure_present

        def ensure_present(spec):
            if spec.workload_id == bad.pk:
                raise RuntimeError("a mistake in the driver")
            return present(spec)

        machine.ensure_present = ensure_present
        for _ in range(3):
            sweeping.sweep_workloads(drivers=lambda _: machine, clock=clock)
            clock.pass_(seconds=1)

        assert fresh(aurora, good).state == State.RUNNING
        row = fresh(aurora, bad)
        assert (row.state, why(row)) == (State.PROVISIONING, "cluster_unreachable")
