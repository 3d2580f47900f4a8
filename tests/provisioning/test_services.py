"""Wishes of people: who may, what is refused and with which words, and that no wish is done twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from core.errors import Forbidden, Invalid, NotFound, Stale
from core.models import AuditEvent
from core.types import Reason
from provisioning.enums import Starts, State
from provisioning.errors import NameTaken, NotAdmitted, VolumeUnavailable, WrongState
from provisioning.models import Volume, Workload
from provisioning.reconciler import sweeping
from provisioning.selectors.launching import preview
from provisioning.selectors.workloads import kept_volumes, workload_for, workloads_visible_to
from provisioning.services import launching, wishes
from tenants.models import Quota
from tenants.selectors import quota_lines
from tenants.services import quotas
from tests import house
from tests.provisioning.stage import NOON, fresh, launch, settle, spec, why, wish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shop")]


def limit(tenant, resource, to, *, project="vision"):
    with house.an_act(), tenant.scope():
        quota = Quota.objects.get(project=tenant.projects[project], resource=resource)
        quotas.set_limit(actor=tenant.actor("olivia"), quota_id=quota.pk, limit=to, now=NOON)


def codes(reasons: tuple[Reason, ...]) -> list[str]:
    return [reason.code for reason in reasons]


class TestLaunch:
    def test_a_form_sent_twice_makes_one_workload(self, aurora):
        first = launch(aurora, request_key="form-1")
        second = launch(aurora, request_key="form-1")

        with aurora.scope():
            assert (first.pk, Workload.objects.count()) == (second.pk, 1)
            assert AuditEvent.objects.filter(verb="workload.launched").count() == 1

    def test_names_are_unique_among_the_living_of_a_project(self, aurora, clock, machine):
        first = launch(aurora, "bob", shape="cpu-4")
        with pytest.raises(NameTaken):
            launch_named(aurora, "notebook")
        assert launch(aurora, project="language", shape="cpu-4").name == "notebook"
        assert launch(aurora, shape="cpu-4").name == "notebook-2"

        wish(aurora, "bob", wishes.delete, first, clock.now)
        settle(aurora, first, machine, clock)
        assert launch_named(aurora, "notebook").state == State.QUEUED

    def test_c28_over_quota_is_refused_with_the_numbers_before_anything_is_made(self, aurora):
        launch(aurora, shape="h100-8")

        with pytest.raises(NotAdmitted) as refused:
            launch(aurora, shape="h100-4")

        assert refused.value.reasons[0].message == "2 H100 GPUs over (8 used + 4 asked > 10)."
        with aurora.scope():
            assert (Workload.objects.count(), Volume.objects.count()) == (1, 1)

    def test_over_capacity_queues_with_the_reason(self, aurora, clock, machine):
        limit(aurora, "accelerators/H100", 100)
        limit(aurora, "accelerators", 100)
        launched = launch(aurora, shape="h100-8")
        settle(aurora, launched, machine, clock, seconds=2)

        waiting = settle(aurora, launch(aurora, shape="h100-1", now=clock.now), machine, clock, seconds=120)

        assert (waiting.state, why(waiting)) == (State.QUEUED, "waiting_for_capacity")
        assert (waiting.reason or {})["message"] == "Waiting: 1 H100 GPU requested, 0 free of 8 in local."
        wish(aurora, "alice", wishes.stop, launched, clock.now)
        settle(aurora, launched, machine, clock, seconds=1)
        assert settle(aurora, waiting, machine, clock, seconds=2).state == State.RUNNING

    def test_first_come_first_served(self, aurora, clock, machine):
        limit(aurora, "accelerators/H100", 100)
        limit(aurora, "accelerators", 100)
        big = launch(aurora, shape="h100-4")
        settle(aurora, big, machine, clock, seconds=2)
        early = launch(aurora, shape="h100-8", now=clock.pass_(seconds=1))
        late = launch(aurora, shape="h100-1", now=clock.pass_(seconds=1))

        waiting = settle(aurora, late, machine, clock, seconds=3)

        assert (waiting.state, why(waiting)) == (State.QUEUED, "waiting_in_queue")
        wish(aurora, "alice", wishes.delete, early, clock.now)
        assert settle(aurora, late, machine, clock, seconds=3).state == State.RUNNING

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"shape": "none"}, "shape"),
            ({"image": "none"}, "image"),
            ({"disk_gib": 0}, "disk_gib"),
            ({"name_": "Not A Name"}, "name"),
            ({"env": {"1X": "y"}}, "env"),
        ],
    )
    def test_names_the_field_that_cannot_be_meant(self, aurora, changes, field):
        changes = {key.rstrip("_"): value for key, value in changes.items()}

        with pytest.raises(Invalid) as invalid, aurora.scope():
            preview(aurora.actor("alice"), aurora.projects["vision"], spec(**changes), NOON)

        assert [error.field for error in invalid.value.errors] == [field]

    def test_a_viewer_may_not_and_a_stranger_finds_nothing(self, aurora, borealis):
        with pytest.raises(Forbidden):
            launch(aurora, "victor")
        workload = launch(aurora)
        with pytest.raises(NotFound), borealis.scope():
            workload_for(borealis.actor("charlie"), workload.pk)

    def test_c31_the_message_carries_everything(self, aurora):
        limit(aurora, "workloads", 0)

        with pytest.raises(NotAdmitted) as refused:
            launch(aurora, shape="cpu-4")

        (reason,) = refused.value.reasons
        assert (reason.resource, reason.asked, reason.used, reason.limit) == ("workloads", 1, 0, 0)
        assert reason.ask == "an owner of the organisation, who sets the quotas of vision"


def launch_named(tenant, name):
    with house.an_act(), tenant.scope():
        return launching.launch(
            actor=tenant.actor("alice"),
            project=tenant.projects["vision"],
            spec=replace(spec("cpu-4"), name=name),
            now=NOON,
        )


class TestPreview:
    def test_shows_prices_quota_and_the_same_free_name_to_all(self, aurora):
        launch(aurora, shape="cpu-4")
        with aurora.scope():
            shown = preview(aurora.actor("alice"), aurora.projects["vision"], spec("h100-4"), NOON)
            again = preview(aurora.actor("bob"), aurora.projects["vision"], spec("h100-4"), NOON)

        assert shown.running
        assert shown.stopped
        assert (str(shown.running.money.amount), str(shown.running.per_month.amount)) == ("11.80", "8614.73")
        assert (str(shown.stopped.per_month.amount), shown.verdict.starts) == ("0.73", Starts.NOW)
        assert (shown.name, again.name, shown.simulated) == ("notebook-2", "notebook-2", True)
        gpus = next(each for each in shown.quotas if each.resource == "accelerators/H100")
        assert (gpus.limit, gpus.used, gpus.asked, gpus.left, gpus.left_after) == (10, 0, 4, 10, 6)

    def test_changes_nothing(self, aurora):
        with aurora.scope():
            preview(aurora.actor("alice"), aurora.projects["vision"], spec("h100-4"), NOON)
            assert quota_lines(aurora.projects["vision"].pk)["accelerators"].used == 0
            assert not Workload.objects.exists()

    def test_says_what_a_viewer_lacks(self, aurora):
        with aurora.scope():
            shown = preview(aurora.actor("victor"), aurora.projects["vision"], spec(), NOON)

        assert codes(shown.verdict.reasons) == ["permission_denied"]


class TestActs:
    @pytest.mark.parametrize("service", [wishes.stop, wishes.start, wishes.delete])
    def test_team_mates_and_viewers_may_not_but_an_owner_of_the_organisation_may(self, aurora, borealis, service):
        workload = launch(aurora)

        for name in ("bob", "victor"):
            with pytest.raises(Forbidden):
                wish(aurora, name, service, workload, NOON)
        with pytest.raises(NotFound):
            wish(borealis, "charlie", service, workload, NOON)
        wish(aurora, "olivia", service, workload, NOON)

    def test_a_wish_made_twice_is_one_wish_and_two_entries_in_the_chain(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock, seconds=2)
        wish(aurora, "alice", wishes.stop, workload, clock.now)
        wish(aurora, "alice", wishes.stop, workload, clock.now)

        assert settle(aurora, workload, machine, clock).state == State.STOPPED
        with aurora.scope():
            assert AuditEvent.objects.filter(verb="workload.stop_requested").count() == 2

    def test_a_stale_version_is_told(self, aurora):
        workload = launch(aurora)

        with pytest.raises(Stale):
            wish(aurora, "alice", wishes.stop, workload, NOON, version=workload.version - 1)

    def test_start_is_admitted_anew_and_may_be_refused(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock, seconds=2)
        wish(aurora, "alice", wishes.stop, workload, clock.now)
        settle(aurora, workload, machine, clock)
        limit(aurora, "accelerators/H100", 0)

        with pytest.raises(NotAdmitted) as refused:
            wish(aurora, "alice", wishes.start, workload, clock.now)

        assert [(r.resource, r.asked, r.used, r.limit) for r in refused.value.reasons] == [
            ("accelerators/H100", 1, 0, 0)
        ]
        assert fresh(aurora, workload).state == State.STOPPED

    def test_start_while_it_stops_starts_it_when_it_has_stopped(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock, seconds=2)
        machine.stays = True
        wish(aurora, "alice", wishes.stop, workload, clock.now)
        settle(aurora, workload, machine, clock, seconds=2)
        wish(aurora, "alice", wishes.start, workload, clock.now)
        machine.stays = False

        assert settle(aurora, workload, machine, clock).state == State.RUNNING
        assert machine.starts == 2

    def test_start_while_it_stops_says_why_it_was_refused(self, aurora, clock, machine):
        workload = launch(aurora)
        settle(aurora, workload, machine, clock, seconds=2)
        machine.stays = True
        wish(aurora, "alice", wishes.stop, workload, clock.now)
        wish(aurora, "alice", wishes.start, workload, clock.now)
        limit(aurora, "vcpus", 0)
        machine.stays = False

        row = settle(aurora, workload, machine, clock)

        assert (row.state, row.desired_state, why(row)) == (State.STOPPED, "stopped", "start_refused")

    def test_what_is_deleted_cannot_be_started(self, aurora):
        workload = launch(aurora)
        wish(aurora, "alice", wishes.delete, workload, NOON)

        with pytest.raises(WrongState):
            wish(aurora, "alice", wishes.start, workload, NOON)

    def test_a_wish_changed_while_the_driver_works_is_honoured_at_once(self, aurora, clock, machine):
        workload = launch(aurora)

        def change(call):
            if call == "present":
                machine.meanwhile = lambda _: None
                wish(aurora, "alice", wishes.delete, workload, clock.now)

        machine.meanwhile = change
        assert settle(aurora, workload, machine, clock, seconds=1).state == State.DELETED
        assert not machine.living(workload.pk)

    def test_keeps_a_running_workload_and_nothing_else(self, aurora, clock, machine):
        workload = launch(aurora)
        with pytest.raises(WrongState):
            wish(aurora, "alice", wishes.extend, workload, NOON)
        settle(aurora, workload, machine, clock, seconds=2)

        kept = wish(aurora, "alice", wishes.extend, workload, clock.now)

        assert kept.stop_extended_until == clock.now + timedelta(hours=2)

    def test_a_new_name_must_be_free(self, aurora):
        one, two = launch(aurora, shape="cpu-4"), launch(aurora, shape="cpu-4")

        assert wish(aurora, "alice", wishes.rename, one, NOON, name="other").name == "other"
        with pytest.raises(NameTaken):
            wish(aurora, "alice", wishes.rename, two, NOON, name="other")


class TestVolumes:
    def delete(self, tenant, clock, machine):
        workload = launch(tenant, shape="cpu-4")
        settle(tenant, workload, machine, clock, seconds=2)
        wish(tenant, "alice", wishes.delete, workload, clock.now)
        return settle(tenant, workload, machine, clock)

    def test_a_deleted_workloads_disk_comes_back_with_its_size_and_quota(self, aurora, clock, machine):
        gone = self.delete(aurora, clock, machine)
        with aurora.scope():
            assert [each.pk for each in kept_volumes(aurora.actor("alice"), clock.now)] == [gone.volume_id]
            assert quota_lines(aurora.projects["vision"].pk)["storage_gib"].used == 0

        back = launch(aurora, shape="cpu-4", volume_id=gone.volume_id, disk_gib=99, now=clock.now)

        assert (back.volume_id, back.volume.size_gib) == (gone.volume_id, 10)
        with aurora.scope():
            assert quota_lines(aurora.projects["vision"].pk)["storage_gib"].used == 10
        with pytest.raises(VolumeUnavailable):
            launch(aurora, shape="cpu-4", volume_id=gone.volume_id, now=clock.now)
        assert settle(aurora, back, machine, clock).state == State.RUNNING

    def test_after_seven_days_its_files_are_removed_and_it_cannot_come_back(self, aurora, clock, machine):
        gone = self.delete(aurora, clock, machine)
        drivers = lambda _: machine  # noqa: E731

        clock.now = gone.volume.purge_after - timedelta(microseconds=1)
        assert sweeping.sweep_volumes(drivers=drivers, clock=clock) == 0
        clock.now = gone.volume.purge_after
        assert sweeping.sweep_volumes(drivers=drivers, clock=clock) == 1

        assert machine.removed_volumes == [gone.volume_id]
        assert gone.volume.purge_after - gone.volume.deleted_at == timedelta(days=7)
        with pytest.raises(VolumeUnavailable):
            launch(aurora, shape="cpu-4", volume_id=gone.volume_id, now=clock.now)


class TestVisibility:
    def test_people_see_the_workloads_of_their_projects_alone(self, aurora, borealis):
        launch(aurora, shape="cpu-4")
        launch(aurora, project="language", shape="cpu-4")

        with aurora.scope():
            seen = {name: workloads_visible_to(aurora.actor(name)).count() for name in ("alice", "bob", "billie")}
        with borealis.scope():
            assert workloads_visible_to(borealis.actor("boris")).count() == 0
        assert seen == {"alice": 2, "bob": 1, "billie": 0}
