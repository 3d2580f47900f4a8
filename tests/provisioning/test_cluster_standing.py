"""Clusters are cordoned, drained, removed and looked at, and the work on them follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from billing.models import UsageSession
from core import scope
from core.errors import Conflict, Forbidden, NotFound, Refused
from core.models import AuditEvent
from provisioning.drivers import registry
from provisioning.drivers.base import DriverUnavailable, Unauthorized
from provisioning.drivers.places import Place
from provisioning.enums import ClusterHealth, ClusterStanding, State
from provisioning.errors import NotAdmitted
from provisioning.models import Cluster, ClusterAccess, Image, Volume
from provisioning.reconciler import reconcile
from provisioning.selectors.specs import places_in_use
from provisioning.services import cluster_health, cluster_standing, wishes
from tenants.enums import PlatformRole
from tenants.models import Quota
from tests import house
from tests.fleet import GOOD, SERVER, Looked, registered
from tests.provisioning import stage


@dataclass
class Lab:
    """A cluster behind a stand-in, the only one that takes work."""

    tenant: house.Tenant
    clock: stage.Clock

    def act(self, what, **words):
        with house.an_act(), scope.of_platform():
            return what(actor=house.SYSTEM, slug="lab", now=self.clock(), **words)

    def turn(self, workload):
        for _ in range(4):
            reconcile(
                organization_id=workload.organization_id,
                workload_id=workload.pk,
                drivers=registry.driver_at,
                clock=self.clock,
            )
            self.clock.pass_(seconds=1)
        return stage.fresh(self.tenant, workload)

    @property
    def cluster(self) -> Cluster:
        with scope.of_platform():
            return Cluster.objects.get(slug="lab")


def saying(answer):
    """Drivers that answer a look so."""
    return lambda _: Looked(answer)


@pytest.fixture
def lab(aurora, shop, clock, machine):
    registered("lab")
    with house.an_act(), scope.of_platform():
        Cluster.objects.filter(slug="local").update(active=False)
        whole = {"accelerators": {"H100": 1}, "vcpus": 64, "memory_gib": 512}
        Cluster.objects.filter(slug="lab").update(capacity=whole)
        Image.objects.update(oci_reference="images.example/jupyterlab:4.6")
    with registry.using("kubernetes", machine):
        yield Lab(aurora, clock)


class TestStanding:
    def test_a_cordoned_cluster_takes_nothing_new_and_what_waits_says_so(self, lab):
        running = lab.turn(stage.launch(lab.tenant))
        waiting = stage.launch(lab.tenant)
        lab.act(cluster_standing.cordon)

        with pytest.raises(NotAdmitted) as refused:
            stage.launch(lab.tenant)
        assert {reason.code for reason in refused.value.reasons} == {"cluster_cordoned"}
        assert stage.why(lab.turn(waiting)) == "cluster_cordoned"
        assert lab.turn(running).state == State.RUNNING

        lab.act(cluster_standing.uncordon)
        stage.wish(lab.tenant, "alice", wishes.stop, running, lab.clock())
        lab.turn(running)
        lab.clock.pass_(seconds=60)
        assert lab.turn(waiting).state == State.RUNNING

    def test_a_draining_cluster_stops_what_runs_and_keeps_disks(self, lab):
        running = lab.turn(stage.launch(lab.tenant))
        lab.act(cluster_standing.drain)

        assert cluster_standing.follow(now=lab.clock()) == 1
        assert cluster_standing.follow(now=lab.clock()) == 0

        stopped = lab.turn(running)
        assert (stopped.state, stage.why(stopped)) == (State.STOPPED, "cluster_draining")
        assert stopped.volume.state == "present"
        assert lab.cluster.used == {"accelerators/H100": 0, "memory_gib": 0, "vcpus": 0}

    def test_each_act_is_one_event_and_needs_the_right(self, lab):
        lab.act(cluster_standing.cordon)
        lab.act(cluster_standing.uncordon)
        lab.act(cluster_standing.remove)

        with scope.of_platform():
            verbs = list(AuditEvent.objects.filter(object_id=str(lab.cluster.pk)).values_list("verb", flat=True))
        assert sorted(verbs) == ["cluster.cordoned", "cluster.registered", "cluster.removed", "cluster.uncordoned"]
        auditor = house.actor_for(
            house.platform_person(lab.tenant, "paul", PlatformRole.AUDITOR), lab.tenant.organization
        )
        for actor, error in ((lab.tenant.actor("alice"), NotFound), (auditor, Forbidden)):
            with house.an_act(), scope.of_platform(), pytest.raises(error):
                cluster_standing.cordon(actor=actor, slug="local", now=lab.clock())

    def test_this_machine_is_not_taken_out(self, lab):
        with house.an_act(), scope.of_platform(), pytest.raises(Conflict, match="This machine"):
            cluster_standing.remove(actor=house.SYSTEM, slug="local", now=lab.clock())

    def test_the_command_does_the_same(self, lab):
        for words, standing in {
            ("cordon",): "cordoned",
            ("drain",): "draining",
            ("remove", "--force"): "removed",
        }.items():
            call_command("cluster", "lab", *words, stdout=StringIO())
            assert lab.cluster.standing == standing

        with pytest.raises(CommandError, match="was removed"):
            call_command("cluster", "lab", "cordon")


class TestRemove:
    def test_c41_what_waits_for_it_fails_with_the_reason_and_can_be_deleted(self, lab):
        waiting = stage.launch(lab.tenant)
        lab.act(cluster_standing.remove)

        assert cluster_standing.follow(now=lab.clock()) == 1

        failed = stage.fresh(lab.tenant, waiting)
        assert (failed.state, stage.why(failed)) == (State.FAILED, "cluster_removed")
        stage.wish(lab.tenant, "alice", wishes.delete, waiting, lab.clock())
        assert lab.turn(waiting).state == State.DELETED

    def test_c43_a_launch_that_was_under_way_never_starts_there(self, lab, machine):
        waiting = stage.launch(lab.tenant)
        lab.act(cluster_standing.remove)

        failed = lab.turn(waiting)

        assert (failed.state, stage.why(failed)) == (State.FAILED, "cluster_removed")
        assert machine.calls == []
        with pytest.raises(NotAdmitted) as refused:
            stage.launch(lab.tenant)
        assert {reason.code for reason in refused.value.reasons} == {"cluster_removed"}

    def test_is_refused_while_something_is_left(self, lab):
        running = lab.turn(stage.launch(lab.tenant))

        with pytest.raises(Refused, match="1 running workloads and 1 disks are left on lab"):
            lab.act(cluster_standing.remove)

        assert lab.cluster.standing == ClusterStanding.SERVING
        assert lab.turn(running).state == State.RUNNING

    def test_c38_by_force_the_leak_is_recorded_and_all_of_it_can_be_deleted(self, lab, machine):
        running = lab.turn(stage.launch(lab.tenant))
        machine.down = True
        lab.act(cluster_standing.remove, force=True)

        with scope.of_platform():
            event = AuditEvent.objects.get(verb="cluster.removed")
            assert not ClusterAccess.objects.exists()
            assert [place.driver for place in places_in_use()] == ["local"]
        assert (event.after or {})["leaked"] == {"running": 1, "disks": 1, "workloads": [str(running.pk)]}
        lab.clock.pass_(minutes=1)
        failed = lab.turn(running)
        assert (failed.state, stage.why(failed)) == (State.FAILED, "cluster_removed")
        assert not any(lab.cluster.used.values())
        stage.wish(lab.tenant, "alice", wishes.delete, running, lab.clock())
        assert lab.turn(running).state == State.DELETED

    def test_disks_that_are_left_behind_are_billed_until_then_and_gone(self, lab):
        """One of a workload that runs, one of a stopped workload, one of a deleted one."""
        running, stopped, deleted = (lab.turn(stage.launch(lab.tenant, shape="cpu-4")) for _ in range(3))
        stage.wish(lab.tenant, "alice", wishes.stop, stopped, lab.clock())
        stage.wish(lab.tenant, "alice", wishes.delete, deleted, lab.clock())
        lab.turn(stopped)
        lab.turn(deleted)
        removed_at = lab.clock.pass_(minutes=10)
        lab.act(cluster_standing.remove, force=True)

        for _ in range(2):
            cluster_standing.follow(now=lab.clock.pass_(minutes=1))

        with lab.tenant.scope():
            assert set(Volume.objects.values_list("state", flat=True)) == {"purged"}
            disks = UsageSession.objects.filter(component="disk")
            ends = {disk.workload_id: disk.during.upper for disk in disks}
            assert {running.pk: removed_at, stopped.pk: removed_at} == {
                key: end for key, end in ends.items() if key != deleted.pk
            }
            assert AuditEvent.objects.filter(verb="volume.lost").count() == 3
        for workload in (running, stopped):
            lab.turn(workload)
            stage.wish(lab.tenant, "alice", wishes.delete, workload, lab.clock())
            assert lab.turn(workload).volume.state == "purged"
        with lab.tenant.scope():
            assert not Quota.objects.filter(used__gt=0).exists()

    def test_twice_is_told(self, lab):
        lab.act(cluster_standing.remove)

        with pytest.raises(Conflict, match="was removed"):
            lab.act(cluster_standing.remove)


class TestLook:
    @pytest.mark.parametrize(
        ("answer", "health", "code"),
        [
            (GOOD, ClusterHealth.HEALTHY, None),
            (replace(GOOD, missing_rights=("list nodes",)), ClusterHealth.DEGRADED, "rights_missing"),
            (replace(GOOD, default_storage_class=""), ClusterHealth.DEGRADED, "no_storage_class"),
            (Unauthorized("no"), ClusterHealth.UNAUTHORIZED, "credentials_refused"),
            (DriverUnavailable("no"), ClusterHealth.UNREACHABLE, "no_answer"),
        ],
        ids=["good", "rights", "storage", "credentials", "away"],
    )
    def test_health_is_written_with_its_reason(self, lab, answer, health, code):
        now = lab.clock()
        cluster_health.check_cluster(cluster_id=lab.cluster.pk, drivers=saying(answer), now=now)

        cluster = lab.cluster
        assert (cluster.health, cluster.checked_at) == (health, now)
        assert (cluster.health_reason or {}).get("code") == code
        assert cluster.standing == ClusterStanding.SERVING
        with scope.of_platform():
            assert AuditEvent.objects.filter(verb="cluster.health_changed").count() == 1

    def test_what_it_was_stays_known_while_it_is_away(self, lab):
        for answer in (GOOD, DriverUnavailable("no")):
            cluster_health.check_cluster(
                cluster_id=lab.cluster.pk, drivers=saying(answer), now=lab.clock.pass_(minutes=5)
            )

        assert (lab.cluster.version, lab.cluster.offers["installed"]) == ("1.34.1", ["kueue"])
        with scope.of_platform():
            assert cluster_health.due_for_a_look(lab.clock()) == []
            assert cluster_health.due_for_a_look(lab.clock() + timedelta(minutes=5)) == [lab.cluster.pk]

    def test_a_named_storage_class_that_is_gone_is_told(self):
        place = Place("kubernetes", connection=SERVER, storage_classes=(("standard", "slow"),))

        found = cluster_health.judge(GOOD, place)

        assert found.reason is not None
        assert (found.health, found.reason.code) == (ClusterHealth.DEGRADED, "storage_class_missing")

    def test_an_address_that_the_platform_does_not_call_is_not_called(self, lab, settings):
        with house.an_act(), scope.of_platform():
            ClusterAccess.objects.update(server="https://127.0.0.1:1")
        settings.STEELYARD = settings.STEELYARD | {"OUTGOING_NETWORKS": ()}

        cluster_health.check_cluster(cluster_id=lab.cluster.pk, drivers=saying(GOOD), now=lab.clock())

        assert lab.cluster.health_reason["code"] == "address_not_called"
