"""Jobs that lose their place, wait for one, or reach for what is not theirs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.errors import Invalid
from provisioning.drivers.base import Phase
from provisioning.enums import State
from provisioning.models import Attempt, Workload
from provisioning.services import wishes
from provisioning.types import JobSpec
from tenants.models import QuotaHold
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
