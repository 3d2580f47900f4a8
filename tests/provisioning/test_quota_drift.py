"""Quotas against what lives: found and reported first, corrected afterwards, nothing over-admitted in between."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db.models import F
from django.utils import timezone

from core.ids import uuid7
from core.models import AuditEvent
from provisioning.enums import State
from provisioning.errors import NotAdmitted
from provisioning.models import Allocation, Cluster, Workload
from provisioning.services import quota_drift
from tenants.models import Quota, QuotaHold
from tests import house
from tests.provisioning.stage import fresh, launch, settle, turn, why
from tests.provisioning.test_invariants import check_that_all_agree

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shop")]


@pytest.fixture
def running(aurora, clock, machine):
    return settle(aurora, launch(aurora, now=clock.now), machine, clock, seconds=3)


def by_hand(tenant, act):
    """Something writes past the services."""
    with house.an_act(), tenant.scope():
        act()


def used(tenant, resource="accelerators/H100"):
    with tenant.scope():
        return Quota.objects.get(project=tenant.projects["vision"], resource=resource).used


def verbs(tenant):
    with tenant.scope():
        return list(AuditEvent.objects.filter(verb__contains="drift").order_by("pk").values_list("verb", flat=True))


class TestSweep:
    def test_finds_nothing_where_all_agrees_and_writes_nothing(self, aurora, clock, running):
        assert quota_drift.sweep(now=clock.now) == []
        assert verbs(aurora) == []

    @pytest.mark.parametrize("by", [-1, 3])
    def test_used_that_is_not_what_is_held_is_reported_and_then_corrected(self, aurora, clock, running, by):
        by_hand(
            aurora,
            lambda: Quota.objects.filter(project=aurora.projects["vision"], resource="vcpus").update(
                used=F("used") + by
            ),
        )

        [drift] = quota_drift.sweep(now=clock.now)

        assert list(drift.quotas.values()) == [(16, 16 + by)]
        assert verbs(aurora) == ["quota.drift_found", "quota.drift_corrected"]
        check_that_all_agree(aurora)
        assert quota_drift.sweep(now=clock.now) == []

    def test_a_report_alone_corrects_nothing(self, aurora, clock, running):
        by_hand(aurora, lambda: Quota.objects.filter(resource="vcpus").update(used=F("used") + 1))

        quota_drift.sweep(now=clock.now, correct=False)

        assert verbs(aurora) == ["quota.drift_found"]
        assert used(aurora, "vcpus") == 17

    def test_a_hold_of_nothing_is_let_go(self, aurora, clock, running):
        by_hand(
            aurora,
            lambda: QuotaHold.objects.filter(holder_id=running.pk).update(holder_id=uuid7()),
        )

        [drift] = quota_drift.sweep(now=clock.now)

        assert len(drift.holds) == 2
        assert used(aurora) == 1
        check_that_all_agree(aurora)

    def test_what_runs_without_a_hold_is_held_again_also_above_a_limit(self, aurora, clock, running):
        def lose():
            QuotaHold.objects.filter(holder_id=running.pk).delete()
            Quota.objects.filter(project=aurora.projects["vision"]).update(used=0)
            Quota.objects.filter(project=aurora.projects["vision"], resource="workloads").update(limit=0)

        by_hand(aurora, lose)

        quota_drift.sweep(now=clock.now)

        assert (used(aurora), used(aurora, "workloads")) == (1, 1)
        with pytest.raises(NotAdmitted):
            launch(aurora, now=clock.now)

    def test_a_hold_that_is_too_large_is_cut(self, aurora, clock, running):
        by_hand(
            aurora,
            lambda: QuotaHold.objects.filter(holder_id=running.pk, resource="memory_gib").update(amount=9999),
        )

        quota_drift.sweep(now=clock.now)

        assert used(aurora, "memory_gib") == 200
        check_that_all_agree(aurora)

    def test_strangers_stay_as_they_are(self, aurora, borealis, clock, running):
        by_hand(aurora, lambda: Quota.objects.filter(resource="vcpus").update(used=F("used") + 1))

        quota_drift.sweep(now=clock.now)

        assert verbs(borealis) == []

    def test_the_command_says_what_it_found(self, aurora, clock, running, capsys):
        by_hand(aurora, lambda: Quota.objects.filter(resource="vcpus").update(used=F("used") + 1))

        call_command("reconcile_quotas")
        call_command("reconcile_quotas")

        said = [line for line in capsys.readouterr().out.splitlines() if "[warning" not in line]
        assert '"held": 16, "used": 17' in said[0]
        assert said[1:] == ["1 organisations with drift, reported and corrected.", "No drift."]


class TestContradictions:
    def test_c21_evicted_admitted_and_reserved_at_once_resolves_to_evicted_and_frees_all(
        self, aurora, clock, machine, running
    ):
        by_hand(aurora, lambda: Workload.objects.filter(pk=running.pk).update(state=State.REQUESTED, due_at=None))
        assert Cluster.objects.get().used["accelerators/H100"] == 1
        clock.pass_(seconds=30)

        quota_drift.sweep(now=clock.now)

        row = fresh(aurora, running)
        assert (row.state, why(row), row.placed_at) == (State.REQUESTED, "evicted", None)
        assert Cluster.objects.get().used["accelerators/H100"] == 0
        assert used(aurora) == 0
        with aurora.scope():
            assert not Allocation.objects.filter(held_to=None).exists()
            events = AuditEvent.objects.filter(object_id=str(running.pk), actor_part="quota sweep")
            assert [event.verb for event in events] == ["workload.contradiction_resolved"]
        assert verbs(aurora) == []
        assert quota_drift.sweep(now=clock.now) == []

    def test_it_is_admitted_again_when_there_is_room(self, aurora, clock, machine, running):
        by_hand(aurora, lambda: Workload.objects.filter(pk=running.pk).update(state=State.REQUESTED))
        quota_drift.sweep(now=clock.now)

        turn(aurora, running, machine, clock)

        assert fresh(aurora, running).state in {State.PROVISIONING, State.RUNNING}
        check_that_all_agree(aurora)

    def test_a_stopped_one_that_still_occupies_its_cluster_lets_it_go(self, aurora, clock, running):
        by_hand(aurora, lambda: Workload.objects.filter(pk=running.pk).update(state=State.STOPPED))

        quota_drift.sweep(now=clock.now)

        assert fresh(aurora, running).state == State.STOPPED
        check_that_all_agree(aurora)
        assert timezone.is_aware(clock.now)
