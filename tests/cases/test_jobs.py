"""Jobs that lose their place, wait for one, or reach for what is not theirs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.errors import Invalid
from provisioning.drivers.base import Phase, Reason
from provisioning.enums import CapacityKind, State
from provisioning.models import Allocation, Attempt, Event, Workload
from provisioning.services import wishes
from provisioning.services.catalogue import ShapeOffer
from provisioning.types import JobSpec
from tenants.models import QuotaHold
from tests.billing.shop import H100
from tests.provisioning import stage

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shop")]


def a_job(tenant, name="alice", *, workers=1, **more):
    return stage.launch(tenant, name, kind="job", job=JobSpec(("python", "train.py"), workers=workers), **more)


def held(tenant):
    with tenant.scope():
        return {hold.resource: hold.amount for hold in QuotaHold.objects.all()}


def test_c49_a_job_that_loses_a_worker_runs_again_whole_on_its_disk_within_a_minute(aurora, clock, machine):
    job = stage.settle(aurora, a_job(aurora, workers=4), machine, clock, seconds=2)
    machine.crash(job.pk, code="evicted", phase=Phase.STOPPED)

    again = stage.settle(aurora, job, machine, clock, seconds=60)

    assert (again.state, again.replicas, again.volume_id, again.failures) == (State.RUNNING, 4, job.volume_id, 0)
    assert (machine.starts, held(aurora)["accelerators/H100"]) == (2, 4)
    with aurora.scope():
        assert list(Attempt.objects.order_by("number").values_list("outcome", flat=True)) == ["interrupted", "running"]


def test_c49_a_spot_job_that_is_interrupted_runs_again_on_its_disk_and_spends_no_retry(aurora, clock, machine):
    stage.offer_shape(
        ShapeOffer("h100-1-spot", "1 H100, spot", "H100", 1, 16, 200, H100, 1, capacity_kind=CapacityKind.SPOT)
    )
    job = stage.settle(aurora, a_job(aurora, shape="h100-1-spot"), machine, clock, seconds=2)
    machine.crash(job.pk, code="spot_interrupted", phase=Phase.STOPPED)

    again = stage.settle(aurora, job, machine, clock, seconds=60)

    first, second = machine.asked
    assert (again.state, again.volume_id, again.failures) == (State.RUNNING, job.volume_id, 0)
    assert (first.spot, first.attempt, first.interruptions) == (True, 1, 0)
    assert (second.spot, second.attempt, second.interruptions) == (True, 2, 1)
    with aurora.scope():
        assert list(Attempt.objects.order_by("number").values_list("outcome", flat=True)) == ["interrupted", "running"]


def test_c51_a_spot_job_for_which_there_is_no_capacity_waits_however_long(aurora, clock, machine):
    machine.up_after = timedelta(days=1)
    job = a_job(aurora)
    stage.settle(aurora, job, machine, clock, seconds=2)
    machine.waits[job.pk] = Reason("spot_dry", "It waits for spot capacity: 0/3 nodes are available.")
    for _ in range(10):
        waiting = stage.settle(aurora, job, machine, clock, seconds=6)
        clock.pass_(minutes=4)

    assert (waiting.state, stage.why(waiting), waiting.failures) == (State.PROVISIONING, "spot_dry", 0)
    machine.waits.clear()
    machine.up_after = timedelta(0)
    assert stage.settle(aurora, job, machine, clock, seconds=30).state == State.RUNNING


def test_c54_a_gang_whose_node_is_lost_is_requeued_as_a_whole_with_one_incident(aurora, clock, machine):
    job = stage.settle(aurora, a_job(aurora, workers=4), machine, clock, seconds=2)
    machine.crash(job.pk, code="node_lost", phase=Phase.STOPPED)
    stage.turn(aurora, job, machine, clock)
    freed = held(aurora).get("accelerators/H100")
    again = stage.settle(aurora, job, machine, clock, seconds=60)

    assert freed in (None, 4)
    assert (again.state, again.failures, machine.starts, held(aurora)["accelerators/H100"]) == (State.RUNNING, 0, 2, 4)
    with aurora.scope():
        incidents = Event.objects.filter(details__code="node_lost")
        assert incidents.count() == 1
        assert [each.held_to is None for each in Allocation.objects.order_by("held_from")] == [False, True]


def test_c47_a_job_is_deleted_while_it_runs_and_says_so_until_it_is_gone(aurora, clock, machine):
    job = stage.settle(aurora, a_job(aurora, workers=2), machine, clock, seconds=2)
    machine.stays = True
    stage.wish(aurora, "alice", wishes.delete, job, clock.now)
    going = stage.settle(aurora, job, machine, clock, seconds=2)
    assert (going.state, stage.why(going), held(aurora)["accelerators/H100"]) == (State.DELETING, "deleting", 2)

    machine.stays = False
    assert stage.settle(aurora, job, machine, clock, seconds=5).state == State.DELETED
    assert held(aurora) == {}


def test_c37_a_job_that_cannot_be_placed_shows_the_clusters_reason_within_30_seconds(aurora, clock, machine):
    machine.up_after = timedelta(days=1)
    job = a_job(aurora)
    stage.turn(aurora, job, machine, clock)
    machine.waits[job.pk] = Reason("pod_refused", "The cluster refuses its pod: exceeded quota.")

    waiting = stage.settle(aurora, job, machine, clock, seconds=30)

    assert (waiting.state, stage.why(waiting)) == (State.PROVISIONING, "pod_refused")


def test_c51_a_job_without_room_waits_with_the_reason_however_long_and_then_starts(aurora, clock, machine):
    first, second = a_job(aurora, workers=8), a_job(aurora, "alice", project="language", workers=8)
    stage.settle(aurora, first, machine, clock, seconds=2)
    for _ in range(10):
        waiting = stage.settle(aurora, second, machine, clock, seconds=1)
        clock.pass_(minutes=36)
    assert clock.now - waiting.created_at > timedelta(hours=6)
    assert (waiting.state, waiting.failures) == (State.QUEUED, 0)
    assert waiting.reason is not None
    assert "H100" in waiting.reason["message"]

    stage.wish(aurora, "alice", wishes.stop, first, clock.now)
    stage.settle(aurora, first, machine, clock, seconds=3)

    assert stage.settle(aurora, second, machine, clock, seconds=60).state == State.RUNNING


def test_c122_a_job_does_not_get_the_disk_of_somebody_else(aurora, clock, machine):
    theirs = stage.settle(aurora, a_job(aurora), machine, clock, seconds=2)
    stage.wish(aurora, "alice", wishes.delete, theirs, clock.now)
    stage.settle(aurora, theirs, machine, clock, seconds=3)

    with pytest.raises(Invalid) as refused:
        a_job(aurora, "bob", volume_id=theirs.volume_id)

    assert [error.field for error in refused.value.errors] == ["volume"]
    with aurora.scope():
        assert Workload.objects.count() == 1
