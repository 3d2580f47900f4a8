"""Whole lives of workloads: state, quota, usage, capacity and audit never disagree."""

from __future__ import annotations

from datetime import timedelta

import pytest

from billing.models import UsageSession
from core.models import AuditEvent
from provisioning.drivers.base import Phase, Reason
from provisioning.enums import State
from provisioning.models import Allocation, Cluster, Event
from provisioning.services import wishes
from tenants.models import QuotaHold
from tests.provisioning.stage import NOON, fresh, launch, settle, turn, why, wish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shop")]


def held(tenant):
    with tenant.scope():
        return {hold.resource: hold.amount for hold in QuotaHold.objects.all()}


def sessions(tenant):
    """(component, seconds) of closed sessions, (component, None) of open ones."""
    with tenant.scope():
        rows = UsageSession.objects.order_by("during")
        return sorted(
            (row.component, (row.during.upper - row.during.lower).total_seconds() if row.during.upper else None)
            for row in rows
        )


def used():
    return {name: amount for name, amount in Cluster.objects.get().used.items() if amount}


def verbs(tenant):
    with tenant.scope():
        return list(AuditEvent.objects.filter(object_kind="workload").order_by("id").values_list("verb", flat=True))


class TestLife:
    def test_launch_run_stop_start_delete(self, aurora, clock, machine):
        workload = launch(aurora)
        assert (workload.state, workload.name) == (State.QUEUED, "notebook")
        assert held(aurora) == {
            "accelerators": 1,
            "accelerators/H100": 1,
            "memory_gib": 200,
            "storage_gib": 10,
            "vcpus": 16,
            "workloads": 1,
        }
        assert sessions(aurora) == []

        assert settle(aurora, workload, machine, clock, seconds=3).state == State.RUNNING
        assert used() == {"accelerators/H100": 1, "vcpus": 16, "memory_gib": 200}
        assert sessions(aurora) == [("accelerator", None), ("disk", None)]

        clock.now = NOON + timedelta(hours=1)
        wish(aurora, "alice", wishes.stop, workload, clock.now)
        assert fresh(aurora, workload).state == State.STOPPING
        stopped = settle(aurora, workload, machine, clock)
        assert (stopped.state, why(stopped)) == (State.STOPPED, "stopped_by_person")
        assert held(aurora) == {"storage_gib": 10}
        assert sessions(aurora) == [("accelerator", 3600.0), ("disk", None)]
        assert used() == {}

        wish(aurora, "alice", wishes.start, workload, clock.now)
        assert settle(aurora, workload, machine, clock).state == State.RUNNING
        assert machine.starts == 2

        wish(aurora, "alice", wishes.delete, workload, clock.now)
        assert settle(aurora, workload, machine, clock).state == State.DELETED
        assert (held(aurora), used()) == ({}, {})
        assert [seconds for _, seconds in sessions(aurora) if seconds is None] == []
        assert fresh(aurora, workload).volume.state == "kept"

    def test_every_step_is_in_the_chain_once_and_on_the_timeline(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock)
        wish(aurora, "alice", wishes.delete, workload, clock.now)
        settle(aurora, workload, machine, clock)

        assert verbs(aurora) == [
            "workload.launched",
            "workload.admitted",
            "workload.running",
            "workload.delete_requested",
            "workload.deleted",
        ]
        with aurora.scope():
            assert Event.objects.filter(workload=workload).count() == 5

    def test_capacity_is_billed_from_the_process_start_although_the_server_is_not_ready(self, aurora, clock, machine):
        machine.up_after = timedelta(seconds=30)
        workload = launch(aurora)

        waiting = settle(aurora, workload, machine, clock, seconds=5)

        assert (waiting.state, why(waiting)) == (State.PROVISIONING, "starting")
        assert sessions(aurora) == [("accelerator", None), ("disk", None)]
        running = settle(aurora, workload, machine, clock, seconds=40)
        assert (running.state, running.bound_at, running.reason) == (State.RUNNING, NOON, None)

    def test_files_stay_and_only_the_disk_costs_while_stopped(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock)
        wish(aurora, "alice", wishes.stop, workload, clock.now)
        stopped = settle(aurora, workload, machine, clock)

        assert stopped.volume.state == "present"
        assert [component for component, seconds in sessions(aurora) if seconds is None] == ["disk"]


class TestFailure:
    def test_c34_a_start_that_never_comes_up_fails_at_its_deadline_and_may_be_retried(self, aurora, clock, machine):
        machine.up_after = timedelta(hours=1)
        workload = launch(aurora)
        turn(aurora, workload, machine, clock)

        clock.now = NOON + timedelta(minutes=5, microseconds=-1)
        turn(aurora, workload, machine, clock)
        assert fresh(aurora, workload).state == State.PROVISIONING

        clock.now = NOON + timedelta(minutes=5)
        turn(aurora, workload, machine, clock)
        failed = fresh(aurora, workload)
        assert (failed.state, why(failed)) == (State.FAILED, "start_timeout")
        assert not machine.living(workload.pk)
        assert sessions(aurora) == [("accelerator", 300.0), ("disk", None)]
        assert held(aurora) == {"storage_gib": 10}

        machine.up_after = timedelta(0)
        wish(aurora, "alice", wishes.start, workload, clock.now)
        assert settle(aurora, workload, machine, clock).state == State.RUNNING

    def test_c35_c24_a_start_that_cannot_be_leaves_nothing_behind(self, aurora, clock, machine):
        machine.refuses = Reason("image_missing", "There is no image by that name.")
        workload = launch(aurora)

        failed = settle(aurora, workload, machine, clock)

        assert (failed.state, why(failed)) == (State.FAILED, "image_missing")
        assert (held(aurora), used(), sessions(aurora), machine.runs) == ({}, {}, [], {})

    def test_a_crash_keeps_its_reason_and_log_and_bills_to_the_real_end(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock, seconds=2)
        clock.now = NOON + timedelta(seconds=60)
        machine.crash(workload.pk)
        clock.now = NOON + timedelta(seconds=90)

        failed = settle(aurora, workload, machine, clock)

        assert (failed.state, why(failed)) == (State.FAILED, "exited")
        assert ("accelerator", 60.0) in sessions(aurora)
        with aurora.scope():
            event = Event.objects.get(workload=workload, code="workload.failing")
        assert event.details["log"] == ["Traceback", "MemoryError"]

    def test_who_ends_the_server_from_within_has_stopped_it(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock, seconds=2)
        machine.crash(workload.pk, phase=Phase.STOPPED)

        stopped = settle(aurora, workload, machine, clock)

        assert (stopped.state, stopped.desired_state) == (State.STOPPED, "stopped")

    def test_what_ended_with_the_platform_starts_again(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock, seconds=2)
        machine.crash(workload.pk, phase=Phase.STOPPED, code="platform_stopped")

        assert settle(aurora, workload, machine, clock).state == State.RUNNING
        assert machine.starts == 2

    def test_unknown_is_a_condition_and_ends_nothing(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock, seconds=2)
        machine.down = True

        row = settle(aurora, workload, machine, clock, seconds=30)

        assert row.state == State.RUNNING
        with aurora.scope():
            assert dict(row.conditions.values_list("type", "status")) == {"reachable": "unknown", "ready": "unknown"}


class TestDelete:
    def test_c38_an_unreachable_cluster_says_deleting_retrying_and_ends_when_it_answers(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock, seconds=2)
        machine.down = True
        wish(aurora, "alice", wishes.delete, workload, clock.now)

        row = settle(aurora, workload, machine, clock)
        assert (row.state, why(row)) == (State.DELETING, "deleting_retrying")
        assert held(aurora)["accelerators"] == 1

        machine.down = False
        assert settle(aurora, workload, machine, clock).state == State.DELETED
        assert held(aurora) == {}

    def test_c38_what_the_cluster_does_not_know_is_deleted(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock, seconds=2)
        machine.runs.clear()
        wish(aurora, "alice", wishes.delete, workload, clock.now)

        assert settle(aurora, workload, machine, clock).state == State.DELETED

    def test_c23_quota_is_free_when_the_process_is_gone_not_when_it_was_asked_to_go(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock, seconds=2)
        machine.stays = True
        wish(aurora, "alice", wishes.delete, workload, clock.now)

        row = settle(aurora, workload, machine, clock, seconds=600)
        assert (row.state, why(row)) == (State.DELETING, "deleting_slowly")
        assert (held(aurora)["accelerators"], used()["accelerators/H100"]) == (1, 1)

        machine.stays = False
        ended = clock.now
        settle(aurora, workload, machine, clock)
        assert (held(aurora), used()) == ({}, {})
        assert dict(sessions(aurora))["accelerator"] == pytest.approx((ended - NOON).total_seconds(), abs=2)

    @pytest.mark.parametrize("turns", range(5))
    @pytest.mark.parametrize("act", [wishes.stop, wishes.delete])
    def test_c40_cancelled_at_any_step_it_converges_to_nothing(self, aurora, clock, machine, turns, act):
        machine.up_after = timedelta(seconds=2)
        workload = launch(aurora)
        for _ in range(turns):
            turn(aurora, workload, machine, clock)
            clock.pass_(seconds=1)
        wish(aurora, "alice", act, workload, clock.now)

        row = settle(aurora, workload, machine, clock)

        assert row.state == (State.STOPPED if act is wishes.stop else State.DELETED)
        assert not machine.living(workload.pk)
        kept = {"storage_gib": 10} if act is wishes.stop and turns else {}
        assert (held(aurora), used()) == (kept, {})
        run = machine.runs.get(workload.pk)
        billed = [seconds for component, seconds in sessions(aurora) if component == "accelerator"]
        assert billed == ([(run.ended_at - run.started_at).total_seconds() or 1e-6] if run else [])

    def test_c40_a_process_that_comes_up_after_the_cancel_is_ended_and_weighed(self, aurora, clock, machine):
        workload = launch(aurora)

        def cancel(call):
            if call == "present":
                machine.meanwhile = lambda _: None
                wish(aurora, "alice", wishes.stop, workload, clock.now)
                clock.pass_(seconds=3)

        machine.meanwhile = cancel
        row = settle(aurora, workload, machine, clock)

        assert row.state == State.STOPPED
        assert (machine.starts, machine.living(workload.pk)) == (1, False)
        assert [component for component, _ in sessions(aurora)] == ["accelerator", "disk"]
        with aurora.scope():
            assert Allocation.objects.filter(held_to=None).count() == 0
