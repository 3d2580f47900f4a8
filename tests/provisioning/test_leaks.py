"""Wish, cluster and ledger are compared; what disagrees is removed or told by rule, with what it costs a day."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from billing.models import UsageSession
from core import audit, scope
from core.ids import uuid7
from core.models import AuditEvent
from provisioning.drivers.base import Leftover, Stray
from provisioning.models import Leak, Volume, Workload
from provisioning.reconciler import sweeping
from provisioning.selectors.leaks import open_leaks, total
from provisioning.selectors.specs import place_of
from provisioning.services import leaks, ledger_leaks
from tests import house
from tests.fleet import Looked, registered
from tests.provisioning import stage
from tests.provisioning.stage import NOON

OLD = NOON - timedelta(hours=1)
ID = uuid7()
DISK = Leftover("PersistentVolumeClaim/ns/vol-1", "u1", OLD, volume_id=ID, size_gib=100)
HANGS = Leftover("Pod/ns/ws-1", "u2", OLD, workload_id=ID, finalizers=("example.com/hold",))


@pytest.mark.parametrize(
    ("leftover", "volume", "wished", "rule"),
    [
        (DISK, "present", (), "keep"),
        (DISK, "kept", (), "keep"),
        (DISK, "new", (), "keep"),
        (DISK, "purged", (), "remove"),
        (DISK, None, (), "tell"),
        (replace(DISK, since=NOON), None, (), "keep"),
        (HANGS, None, (), "remove"),
        (HANGS, None, (ID,), "keep"),
        (replace(HANGS, since=NOON), None, (), "keep"),
    ],
    ids=["used", "kept", "new", "purged", "unknown", "young", "hangs", "its workload is there", "hangs not long"],
)
def test_what_is_done_with_what_is_left(leftover, volume, wished, rule):
    assert leaks.judge(leftover, volume, wished, NOON).rule == rule


@dataclass
class Cluster(Looked):
    left: tuple[Leftover, ...] = ()
    removed: list[str] = field(default_factory=list)

    def leftovers(self):
        return self.left

    def remove_leftover(self, leftover):
        self.removed.append(leftover.name)


@pytest.fixture
def place(db):
    row = registered()
    with scope.of_platform():
        return place_of(row)


def sweep(place, driver, now=NOON):
    return sweeping.sweep_leftovers(place=place, drivers=lambda _: driver, clock=lambda: now)


def on_record():
    with scope.of_platform():
        return {row.object: str(row.outcome) for row in Leak.objects.all()}


def verbs():
    with scope.of_platform():
        return list(AuditEvent.objects.filter(verb__startswith="leak.").order_by("pk").values_list("verb", flat=True))


class TestLeftovers:
    def test_each_is_told_once_with_what_it_costs_and_its_end_too(self, place, shop):
        driver = Cluster(left=(DISK, HANGS))

        assert [sweep(place, driver), sweep(place, Cluster(left=(DISK,)))] == [1, 0]

        assert driver.removed == [HANGS.name]
        assert on_record() == {DISK.name: "", HANGS.name: "escaped"}
        with scope.of_platform():
            [leaking] = open_leaks("USD", NOON, most=9)
            assert leaking.per_day is not None
            assert str(leaking.per_day.amount) == "0.24"
            assert total([leaking], "USD") == leaking.per_day
        sweep(place, Cluster())
        assert on_record()[DISK.name] == "gone"
        assert verbs() == ["leak.found", "leak.escaped", "leak.gone"]

    def test_a_disk_that_was_deleted_for_good_is_removed(self, place, aurora, shop, clock, machine):
        workload = stage.settle(aurora, stage.launch(aurora, shape="cpu-4"), machine, clock)
        with house.an_act(), scope.of_platform():
            Volume.objects.filter(pk=workload.volume_id).update(state="purged", purge_after=None)
            audit.record(house.SYSTEM, "test.purged", workload.ref, now=NOON)
        driver = Cluster(left=(replace(DISK, volume_id=workload.volume_id),))

        assert sweep(place, driver) == 1
        assert on_record() == {DISK.name: "removed"}

    def test_strays_are_on_record(self, place, aurora, shop):
        leaks.note_strays(place, [Stray(ID, (), OLD)], NOON)

        assert on_record() == {f"workload {ID}": "removed"}


class TestLedger:
    @pytest.fixture
    def running(self, aurora, shop, clock, machine):
        return stage.settle(aurora, stage.launch(aurora, shape="cpu-4"), machine, clock)

    def test_what_runs_is_billed_on(self, running, clock):
        assert ledger_leaks.sweep(now=clock.now) == 0

    def test_a_bill_without_a_thing_ends_where_that_was_last_seen(self, aurora, running, clock):
        seen = running.seen_at
        with house.an_act(), aurora.scope():
            Workload.objects.filter(pk=running.pk).update(bound_at=None)
        clock.pass_(hours=5)

        assert [ledger_leaks.sweep(now=clock.now), ledger_leaks.sweep(now=clock.now)] == [1, 0]

        with aurora.scope():
            ends = {row.component: row.during.upper for row in UsageSession.objects.all()}
            assert ends == {"compute": seen, "disk": None}
            assert AuditEvent.objects.filter(verb="usage.leak_closed").count() == 1
        assert list(on_record().values()) == ["closed"]
