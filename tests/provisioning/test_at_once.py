"""Many at once: quotas are never passed, a row is worked on by one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
from django.db import connection

from provisioning.enums import State
from provisioning.errors import NotAdmitted, WrongState
from provisioning.models import Cluster, Workload
from provisioning.services import wishes
from tenants.selectors import quota_lines
from tests.provisioning.stage import fresh, launch, settle, turn, wish

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("shop")]


def at_once(count, act):
    """Run an act in many threads that begin together, each with a connection of its own at the same time."""
    barrier = Barrier(count)

    def run(number):
        try:
            barrier.wait(timeout=60)
            return act(number)
        finally:
            connection.close()

    connections = connection.pool  # type: ignore[attr-defined]
    before = (connections.min_size, connections.max_size)
    connections.resize(before[0], max(count + 1, before[1]))
    try:
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(run, range(count)))
    finally:
        connections.resize(*before)


class TestLaunches:
    def test_fifty_against_a_quota_of_ten_admit_ten_and_refuse_forty_with_numbers(self, aurora):
        def ask(_):
            try:
                return launch(aurora, shape="cpu-4")
            except NotAdmitted as refused:
                return refused

        answers = at_once(50, ask)

        refusals = [answer for answer in answers if isinstance(answer, NotAdmitted)]
        assert (len(answers) - len(refusals), len(refusals)) == (10, 40)
        for refusal in refusals:
            (reason,) = refusal.reasons
            assert (reason.code, reason.resource, reason.asked, reason.used, reason.limit) == (
                "over_quota",
                "workloads",
                1,
                10,
                10,
            )
        with aurora.scope():
            assert quota_lines(aurora.projects["vision"].pk)["workloads"].used == 10
            assert Workload.objects.count() == 10
            assert len(set(Workload.objects.values_list("name", flat=True))) == 10

    def test_a_double_click_makes_one(self, aurora):
        made = at_once(6, lambda _: launch(aurora, shape="cpu-4", request_key="form"))

        assert len({workload.pk for workload in made}) == 1
        with aurora.scope():
            assert Workload.objects.count() == 1


class TestReconcilers:
    def test_two_on_one_row_one_acts(self, aurora, clock, machine):
        workload = launch(aurora)
        asked, go_on = Event(), Event()

        def slow(call):
            if call == "present":
                asked.set()
                go_on.wait(timeout=30)

        def second():
            try:
                assert asked.wait(timeout=30)
                return turn(aurora, workload, machine, clock)
            finally:
                go_on.set()
                connection.close()

        machine.meanwhile = slow
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(second)
            turn(aurora, workload, machine, clock)
            assert other.result() == 0

        assert (machine.starts, machine.calls.count("present")) == (1, 1)

    def test_c101_ten_deliveries_of_one_task_start_one_process_and_one_charge(self, aurora, clock, machine):
        workload = launch(aurora)

        at_once(10, lambda _: turn(aurora, workload, machine, clock))
        row = settle(aurora, workload, machine, clock, seconds=2)

        assert (row.state, machine.starts) == (State.RUNNING, 1)
        assert Cluster.objects.get().used["accelerators/H100"] == 1

    def test_capacity_is_never_passed_when_many_are_admitted_together(self, aurora, borealis, clock, machine):
        waiting = [(aurora, launch(aurora, shape="h100-4")) for _ in range(2)]
        waiting += [(borealis, launch(borealis, "charlie", project="drugs", shape="h100-4")) for _ in range(2)]

        at_once(4, lambda number: turn(waiting[number][0], waiting[number][1], machine, clock))
        for tenant, workload in waiting:
            turn(tenant, workload, machine, clock)

        states = [fresh(tenant, workload).state for tenant, workload in waiting]
        assert Cluster.objects.get().used["accelerators/H100"] == 4 * sum(state != State.QUEUED for state in states)
        assert sum(state != State.QUEUED for state in states) <= 2

    def test_a_lease_left_by_a_dead_worker_is_taken_over_when_it_is_over(self, aurora, clock, machine):
        workload = launch(aurora)

        def die(call):
            raise KeyboardInterrupt

        machine.meanwhile = die
        with pytest.raises(KeyboardInterrupt):
            turn(aurora, workload, machine, clock)
        machine.meanwhile = lambda _: None
        assert turn(aurora, workload, machine, clock) == 0

        clock.pass_(seconds=30)
        assert settle(aurora, workload, machine, clock, seconds=3).state == State.RUNNING

    def test_stop_and_delete_at_once_end_in_deleted(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock, seconds=2)
        acts = [wishes.stop, wishes.delete]

        def act(number):
            try:
                return wish(aurora, "alice", acts[number], workload, clock.now)
            except WrongState:
                return None

        at_once(2, act)
        assert settle(aurora, workload, machine, clock).state == State.DELETED
