"""State, quota, usage and capacity never disagree, whatever people and machines do to workloads."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from random import Random

import pytest
from django.db.models import Sum

from billing.models import UsageSession
from core.errors import SteelyardError
from provisioning.drivers.base import Phase
from provisioning.enums import State
from provisioning.errors import NotAdmitted, WrongState
from provisioning.models import Allocation, Cluster, Workload
from provisioning.services import wishes
from tenants.models import Quota, QuotaHold
from tests import house
from tests.provisioning.stage import fresh, launch, settle, turn, why, wish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shop")]

FULL = {State.QUEUED, State.PROVISIONING, State.RUNNING, State.STOPPING}


def check_that_all_agree(tenant):
    with tenant.scope():
        expected: Counter[str] = Counter()
        for row in Workload.objects.select_related("shape__accelerator", "shape__region", "volume"):
            rows = list(QuotaHold.objects.filter(holder_id=row.pk))
            holds = {hold.resource: hold.amount for hold in rows}
            if row.state in {State.QUEUED, State.PROVISIONING}:
                assert all(hold.in_use_from is None for hold in rows if hold.resource != "storage_gib")
            if row.state == State.RUNNING:
                assert all(hold.in_use_from is not None for hold in rows)
            sessions = UsageSession.objects.filter(workload_id=row.pk, during__upper_inf=True)
            open_ = set(sessions.values_list("component", flat=True))
            present = row.volume.state == "present"
            if row.state in FULL:
                assert holds == row.shape.facts.claim(row.volume.size_gib).as_dict()
            elif row.state in {State.STOPPED, State.FAILED, State.DELETED}:
                assert holds == ({"storage_gib": row.volume.size_gib} if present else {})
            assert ("accelerator" in open_) == (row.bound_at is not None)
            assert ("disk" in open_) == present
            assert Allocation.objects.filter(workload=row, held_to=None).exists() == (row.placed_at is not None)
            if row.placed_at is not None:
                expected.update(row.shape.facts.resources())
        for quota in Quota.objects.all():
            below = QuotaHold.objects.filter(resource=quota.resource)
            mine = below.filter(project_id=quota.project_id) if quota.project_id else below
            assert quota.used == (mine.aggregate(n=Sum("amount"))["n"] or 0)
            assert quota.used <= quota.limit
    used = Cluster.objects.get().used
    assert {name: amount for name, amount in used.items() if amount} == dict(expected)
    assert used.get("accelerators/H100", 0) <= 8


class TestRandomLives:
    @pytest.mark.parametrize("seed", range(5))
    def test_agree_after_every_step(self, aurora, clock, machine, seed):
        dice, workloads = Random(seed), []
        machine.up_after = timedelta(seconds=2)
        for _ in range(60):
            clock.pass_(seconds=dice.choice([1, 1, 5, 400]))
            machine.down, machine.stays = dice.random() < 0.15, dice.random() < 0.15
            act = dice.choice(["launch", "stop", "start", "delete", "crash", "turn", "turn", "turn", "turn"])
            try:
                if act == "launch":
                    workloads.append(launch(aurora, shape=dice.choice(["h100-1", "h100-4", "h100-8"]), now=clock.now))
                elif workloads:
                    self.do(aurora, act, dice.choice(workloads), machine, clock)
            except SteelyardError:
                pass
            check_that_all_agree(aurora)
        machine.down = machine.stays = False
        for workload in workloads:
            wish(aurora, "alice", wishes.delete, workload, clock.now)
            settle(aurora, workload, machine, clock, seconds=12)
        check_that_all_agree(aurora)
        assert {fresh(aurora, each).state for each in workloads} <= {State.DELETED}
        assert not any(machine.living(each.pk) for each in workloads)

    def do(self, tenant, act, workload, machine, clock):
        if act == "crash":
            if machine.living(workload.pk):
                machine.crash(workload.pk, phase=Phase.FAILED if machine.starts % 2 else Phase.STOPPED)
        elif act == "turn":
            turn(tenant, workload, machine, clock)
        else:
            wish(tenant, "alice", getattr(wishes, act), workload, clock.now)


class TestCases:
    def test_c26_a_stopped_workload_counts_its_disk_alone(self, aurora, clock, machine):
        with house.an_act(), aurora.scope():
            Quota.objects.filter(resource="vcpus", project=aurora.projects["vision"]).update(limit=3 * 16)
        three = [launch(aurora, shape="h100-1") for _ in range(3)]
        for each in three:
            settle(aurora, each, machine, clock, seconds=2)
        with pytest.raises(NotAdmitted):
            launch(aurora, shape="h100-1", now=clock.now)
        wish(aurora, "alice", wishes.stop, three[0], clock.now)
        settle(aurora, three[0], machine, clock)

        assert launch(aurora, shape="h100-1", now=clock.now).state == State.QUEUED
        with aurora.scope():
            storage = Quota.objects.get(resource="storage_gib", project=aurora.projects["vision"])
        assert storage.used == 40

    def test_c19_a_request_that_fits_is_admitted_within_two_turns(self, aurora, clock, machine):
        workload = launch(aurora)

        turn(aurora, workload, machine, clock)
        turn(aurora, workload, machine, clock)

        assert fresh(aurora, workload).state in {State.PROVISIONING, State.RUNNING}

    def test_c38_an_admin_may_force_a_delete_that_hangs(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock, seconds=2)
        machine.down = True
        with pytest.raises(WrongState):
            wish(aurora, "olivia", wishes.force_delete, workload, clock.now)
        wish(aurora, "alice", wishes.delete, workload, clock.now)
        settle(aurora, workload, machine, clock, seconds=3)

        forced = wish(aurora, "olivia", wishes.force_delete, workload, clock.now)

        assert (forced.state, why(forced)) == (State.DELETED, "leak_recorded")
        check_that_all_agree(aurora)
