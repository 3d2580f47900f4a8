"""One look at all that runs on a cluster: who looks as before costs nothing, who does not is looked at by itself."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from billing.models import UsageSession
from provisioning.drivers.base import Hint, Observation, Phase
from provisioning.enums import State
from provisioning.models import Cluster, Condition, Workload
from provisioning.reconciler import sweeping
from provisioning.services import hints, rounds, wishes
from tests.house import Tenant
from tests.provisioning.stage import Clock, Machine, fresh, launch, settle, turn, why, wish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shop")]
Step: TypeAlias = tuple[str, int]


@dataclass
class Listing(Machine):
    """It lists what runs. `touched`: how often something of it changed that means nothing."""

    touched: Counter[UUID] = field(default_factory=Counter)

    def marks(self) -> Mapping[UUID, str]:
        self._answers()
        return {each: self._mark(each) for each in self.runs if self.living(each)}

    def _seen(self, workload_id: UUID) -> Observation:
        known = super()._seen(workload_id)
        return replace(known, mark=self._mark(workload_id)) if known.phase is Phase.RUNNING else known

    def _mark(self, workload_id: UUID) -> str:
        known = self.runs[workload_id]
        looks = f"{workload_id} {known.incarnation} {known.ready} {self.touched[workload_id]}"
        return hashlib.blake2b(looks.encode(), digest_size=16).hexdigest()


@pytest.fixture
def machine(clock: Clock) -> Listing:
    return Listing(clock)


@pytest.fixture
def running(aurora: Tenant, clock: Clock, machine: Listing) -> Workload:
    found = settled(aurora, launch(aurora, shape="cpu-4"), machine, clock)
    Cluster.objects.update(driver="kubernetes")  # launched where this machine's image is
    return found


def settled(tenant: Tenant, workload: Workload, machine: Listing, clock: Clock) -> Workload:
    """Running, and seen to run since."""
    settle(tenant, workload, machine, clock, seconds=2)
    found = fresh(tenant, workload)
    assert found.mark
    machine.calls.clear()
    return found


def make_round(machine: Listing, clock: Clock) -> int:
    return sweeping.sweep_runs(drivers=lambda _: machine, clock=clock)


def sweep(machine: Listing, clock: Clock) -> None:
    sweeping.sweep_workloads(drivers=lambda _: machine, clock=clock)


class TestARound:
    def test_who_looks_as_before_is_seen_without_a_look_of_its_own(
        self, aurora: Tenant, clock: Clock, machine: Listing, running: Workload
    ) -> None:
        for _ in range(10):
            clock.pass_(minutes=1)
            assert make_round(machine, clock) == 1
            sweep(machine, clock)

        after = fresh(aurora, running)
        assert machine.calls == []
        assert (after.seen_at, after.version, after.state) == (clock.now, running.version, State.RUNNING)

    def test_what_looks_otherwise_is_due_and_nothing_else_is_decided(
        self, aurora: Tenant, clock: Clock, machine: Listing, running: Workload
    ) -> None:
        clock.pass_(minutes=1)
        machine.crash(running.pk)
        ended = clock.now
        clock.pass_(seconds=20)

        make_round(machine, clock)
        told = fresh(aurora, running)
        assert (told.state, told.due_at, told.seen_at) == (State.RUNNING, clock.now, running.seen_at)
        sweep(machine, clock)

        failed = fresh(aurora, running)
        assert (failed.state, failed.ended_at) == (State.FAILED, ended)

    def test_what_is_not_there_is_due(self, aurora: Tenant, clock: Clock, machine: Listing, running: Workload) -> None:
        del machine.runs[running.pk]
        clock.pass_(minutes=1)

        make_round(machine, clock)
        sweep(machine, clock)

        lost = fresh(aurora, running)
        assert (lost.state, why(lost), lost.ended_at) == (State.FAILED, "lost", running.seen_at)

    def test_a_change_that_means_nothing_is_looked_at_once(
        self, aurora: Tenant, clock: Clock, machine: Listing, running: Workload
    ) -> None:
        machine.touched[running.pk] += 1
        for _ in range(3):
            clock.pass_(minutes=1)
            make_round(machine, clock)
            sweep(machine, clock)

        assert machine.calls == ["observe"]

    def test_what_is_due_stays_due_whatever_a_list_says(
        self, aurora: Tenant, clock: Clock, machine: Listing, running: Workload
    ) -> None:
        clock.pass_(minutes=1)
        listed, asked_at = machine.marks(), clock.now
        machine.crash(running.pk)
        hints.look_at_runs([Hint(aurora.organization.pk, running.pk)], clock)

        rounds.take_in(running.cluster_id, listed, asked_at=asked_at, clock=clock)

        assert fresh(aurora, running).due_at == clock.now

    def test_an_old_list_says_nothing(self, aurora: Tenant, clock: Clock, machine: Listing, running: Workload) -> None:
        asked_at = clock.now - timedelta(minutes=5)

        found = rounds.take_in(running.cluster_id, {}, asked_at=asked_at, clock=clock)
        again = rounds.take_in(running.cluster_id, machine.marks(), asked_at=asked_at, clock=clock)

        assert (found, again, fresh(aurora, running).seen_at) == ((0, 0), (0, 0), running.seen_at)

    def test_a_wish_is_followed_whatever_a_list_says(
        self, aurora: Tenant, clock: Clock, machine: Listing, running: Workload
    ) -> None:
        clock.pass_(minutes=1)
        wish(aurora, "alice", wishes.stop, running, clock.now)
        make_round(machine, clock)
        sweep(machine, clock)

        assert fresh(aurora, running).state == State.STOPPED


class TestAClusterThatDoesNotAnswer:
    def test_is_unknown_with_its_reason_and_changes_no_state(
        self, aurora: Tenant, clock: Clock, machine: Listing, running: Workload
    ) -> None:
        machine.down = True
        clock.pass_(minutes=1)
        assert make_round(machine, clock) == 0
        clock.now += rounds.LASTS
        sweep(machine, clock)
        with aurora.scope():
            said = Condition.objects.get(workload=running.pk, type="reachable")
        assert (said.status, said.code, said.message) == ("unknown", "cluster_unreachable", "no route to host")
        assert fresh(aurora, running).state == State.RUNNING

        machine.down = False
        clock.pass_(minutes=1)
        make_round(machine, clock)
        sweep(machine, clock)

        after = fresh(aurora, running)
        with aurora.scope():
            said = Condition.objects.get(workload=running.pk, type="reachable")
            (session,) = UsageSession.objects.filter(workload_id=running.pk).exclude(component="disk")
        assert (said.status, said.code, bool(after.mark)) == ("true", "", True)
        assert (session.during.lower, session.during.upper) == (running.bound_at, None)


@dataclass
class World:
    """Two workloads, and what is on its way: hints and lists that come late, twice, in another order or never."""

    tenant: Tenant
    clock: Clock
    machine: Listing
    workloads: list[Workload]
    crashed: dict[UUID, datetime] = field(default_factory=dict)
    lists: list[tuple[Mapping[UUID, str], datetime]] = field(default_factory=list)

    def take(self, step: Step) -> None:
        what, number = step
        workload = self.workloads[number % len(self.workloads)]
        self.clock.pass_(seconds=1)
        match what:
            case "crash" if workload.pk not in self.crashed:
                self.machine.crash(workload.pk)
                self.crashed[workload.pk] = self.clock.now
            case "touch":
                self.machine.touched[workload.pk] += 1
            case "hint":
                hints.look_at_runs([Hint(self.tenant.organization.pk, workload.pk)], self.clock)
            case "list":
                self.lists.append((self.machine.marks(), self.clock.now))
            case "told" if self.lists:
                marks, asked_at = self.lists[number % len(self.lists)]
                rounds.take_in(workload.cluster_id, marks, asked_at=asked_at, clock=self.clock)
            case "turn":
                turn(self.tenant, workload, self.machine, self.clock)
            case "wait":
                self.clock.pass_(seconds=10 * number)

    def rest(self) -> None:
        """Whatever was missed, a minute's list and the sweeps heal it."""
        for _ in range(4):
            self.clock.pass_(seconds=61)
            make_round(self.machine, self.clock)
            sweep(self.machine, self.clock)


KINDS = ("crash", "touch", "hint", "hint", "list", "told", "told", "turn", "wait")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 5)), max_size=25))
def test_missed_doubled_and_reordered_events_change_nothing(aurora: Tenant, steps: list[Step]) -> None:
    """What became of each is what its cluster did to it, to the second, and no run began or ended besides."""
    with transaction.atomic():
        clock = Clock()
        world = World(aurora, clock, Listing(clock), [])
        world.workloads = [settled(aurora, launch(aurora, shape="cpu-4"), world.machine, clock) for _ in range(2)]
        Cluster.objects.update(driver="kubernetes")
        for step in steps:
            world.take(step)
        world.rest()

        for workload in world.workloads:
            after = fresh(aurora, workload)
            with aurora.scope():
                spans = UsageSession.objects.filter(workload_id=workload.pk).exclude(component="disk")
                ends = [each.during.upper for each in spans]
            crashed = world.crashed.get(workload.pk)
            assert (after.state, ends) == (State.FAILED if crashed else State.RUNNING, [crashed])
        assert world.machine.starts == 2
        transaction.set_rollback(True)
