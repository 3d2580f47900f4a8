"""Situations of people at work, through pages and API, under a moved clock."""

from __future__ import annotations

import pytest

from provisioning.enums import State
from provisioning.errors import NotAdmitted
from provisioning.models import Workload
from provisioning.services import wishes
from provisioning.services.catalogue import ShapeOffer
from tenants.models import Quota
from tests import house
from tests.api.ask import send
from tests.provisioning import stage

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shop")]


@pytest.fixture
def running(aurora, clock, machine):
    workload = stage.launch(aurora, shape="cpu-4", now=clock.now)
    return stage.settle(aurora, workload, machine, clock, seconds=3)


def test_c7_a_hundred_looks_at_its_pages_in_two_hours_are_no_activity(aurora, clock, running):
    alice = house.client_for(aurora, "alice")
    api = house.api_for(aurora, "alice")
    before = running.last_activity_at
    parts = ("", "/head", "/timeline", "/cost", "/stops", "/activity")

    for number in range(50):
        clock.pass_(minutes=2.4)
        assert alice.get(f"/workspaces/{running.pk}{parts[number % 6]}").status_code == 200
        assert api.get(f"/api/v1/workloads/{running.pk}").status_code == 200

    assert stage.fresh(aurora, running).last_activity_at == before


def test_c26_of_150_three_hold_50_each_and_when_one_stops_a_fourth_is_admitted(aurora, clock, machine):
    stage.offer_shape(ShapeOffer("mem-50", "50 GiB", None, 0, 1, 50, stage.CPU, 1))
    with house.an_act(), aurora.scope():
        Quota.objects.filter(resource="memory_gib", project=aurora.projects["vision"]).update(limit=150)
    three = [stage.launch(aurora, shape="mem-50", now=clock.now) for _ in range(3)]
    for each in three:
        stage.settle(aurora, each, machine, clock, seconds=3)
    with pytest.raises(NotAdmitted):
        stage.launch(aurora, shape="mem-50", now=clock.now)

    stage.wish(aurora, "alice", wishes.stop, three[0], clock.now)
    stage.settle(aurora, three[0], machine, clock)

    assert stage.launch(aurora, shape="mem-50", now=clock.now).state == State.QUEUED
    with aurora.scope():
        assert Quota.objects.get(resource="storage_gib", project=aurora.projects["vision"]).used == 40


def test_c37_a_cluster_that_cannot_be_reached_is_the_reason_shown_within_30_seconds(aurora, clock, machine):
    machine.down = True
    workload = stage.launch(aurora, shape="cpu-4", now=clock.now)
    asked = clock.now

    stage.settle(aurora, workload, machine, clock, seconds=20)

    assert (clock.now - asked).total_seconds() <= 30
    told = house.api_for(aurora, "alice").get(f"/api/v1/workloads/{workload.pk}").json()
    assert told["reason"]["code"] == "cluster_unreachable"
    assert "no route to host" in told["reason"]["message"]
    page = house.client_for(aurora, "alice").get(f"/workspaces/{workload.pk}").content.decode()
    assert "no route to host" in page


def test_c47_a_delete_is_accepted_its_progress_is_visible_and_it_ends_in_deleted(aurora, clock, machine, running):
    api = house.api_for(aurora, "alice")
    machine.stays = True

    accepted = send(api, "delete", f"/api/v1/workloads/{running.pk}")
    stage.settle(aurora, running, machine, clock, seconds=5)
    meanwhile = api.get(f"/api/v1/workloads/{running.pk}").json()
    machine.stays = False
    stage.settle(aurora, running, machine, clock, seconds=10)

    assert accepted.status_code == 202
    assert (meanwhile["state"], meanwhile["reason"]["code"]) == ("deleting", "deleting")
    assert api.get(f"/api/v1/workloads/{running.pk}").json()["state"] == "deleted"


def test_c119_another_tenant_can_neither_open_stop_start_keep_nor_delete_and_sees_none(
    aurora, borealis, clock, machine, running
):
    charlie, pages = house.api_for(borealis, "charlie"), house.client_for(borealis, "charlie")

    for act in ("open", "stop", "start", "extend"):
        assert send(charlie, "post", f"/api/v1/workloads/{running.pk}/{act}").status_code == 404
    assert send(charlie, "delete", f"/api/v1/workloads/{running.pk}").status_code == 404
    for act in ("open", "stop", "start", "keep", "delete"):
        assert pages.post(f"/workspaces/{running.pk}/{act}").status_code == 404
    assert charlie.get("/api/v1/workloads").json()["results"] == []
    assert running.name not in pages.get("/workspaces").content.decode()
    assert stage.fresh(aurora, running).state == State.RUNNING
    with aurora.scope():
        assert Workload.objects.get(pk=running.pk).generation == running.generation
