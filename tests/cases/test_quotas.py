"""Situations of quota and admission, with the values that are right."""

from __future__ import annotations

from datetime import timedelta

import pytest

from billing.models import UsageSession
from core import scope
from core.models import AuditEvent
from core.types import Reason
from provisioning import tasks
from provisioning.enums import State
from provisioning.errors import NotAdmitted
from provisioning.models import Cluster, Workload
from provisioning.selectors.launching import preview
from provisioning.services import catalogue, wishes
from provisioning.services.catalogue import ShapeOffer
from tenants.models import Quota, QuotaHold
from tenants.services import quota_raises, quota_requests
from tests import house
from tests.api.ask import is_problem, send
from tests.billing import shop
from tests.provisioning import stage
from tests.tenants.quota_stage import quota, team

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shop")]
H100 = "accelerators/H100"


def test_c18_of_16_with_8_out_of_service_a_launch_of_12_waits_and_says_why(aurora, clock, machine):
    Cluster.objects.update(capacity={"accelerators": {"H100": 16}, "vcpus": 512, "memory_gib": 8192})
    stage.offer_shape(ShapeOffer("h100-12", "12 H100", "H100", 12, 16, 200, shop.H100, 12))
    quota(aurora, aurora.projects["vision"], 16)
    out_of_service(clock, {H100: 8})

    with aurora.scope():
        told = preview(aurora.actor("alice"), aurora.projects["vision"], stage.spec("h100-12"), clock.now)
    workload = stage.launch(aurora, shape="h100-12", now=clock.now)
    after = stage.settle(aurora, workload, machine, clock, seconds=90)

    said = "Waiting: 12 requested, 8 schedulable in this pool (H100 GPUs of local)."
    assert told.verdict.waits is not None
    assert after.reason is not None
    assert (told.verdict.denied, told.verdict.starts, told.verdict.waits.message) == (False, "later", said)
    assert (after.state, after.reason["message"]) == (State.QUEUED, said)
    assert (after.reason["asked"], after.reason["limit"]) == (12, 8)
    page = house.client_for(aurora, "alice").get(f"/workspaces/{workload.pk}").content.decode()
    assert "8 schedulable in this pool" in page
    assert "Starting" not in page

    out_of_service(clock, {})
    assert stage.settle(aurora, workload, machine, clock, seconds=5).state == State.RUNNING


def out_of_service(clock, amounts):
    with house.an_act(), scope.of_platform():
        catalogue.set_out_of_service(actor=house.SYSTEM, cluster_slug="local", amounts=amounts, now=clock.now)


def test_c19_whatever_is_pending_for_more_than_60_seconds_says_why(aurora, clock, machine):
    machine.up_after = timedelta(minutes=4)
    running = [stage.launch(aurora, shape="h100-4", now=clock.now) for _ in range(2)]
    quota(aurora, aurora.projects["vision"], 100)
    waiting = [stage.launch(aurora, shape="h100-4", now=clock.now) for _ in range(2)]

    for _ in range(62):
        for each in (*running, *waiting):
            stage.turn(aurora, each, machine, clock)
        clock.pass_(seconds=1)

    with aurora.scope():
        found = {row.state: row.reason for row in Workload.objects.all()}
    assert set(found) == {State.PROVISIONING, State.QUEUED}
    assert all(reason and reason["code"] and reason["message"] for reason in found.values())


def test_c24_when_creations_fail_what_is_reserved_is_what_lives(aurora, clock, machine):
    from_below = [stage.launch(aurora, now=clock.now) for _ in range(3)]
    machine.refuses = Reason("volume_missing", "Its disk is not there.")
    for each in from_below:
        stage.settle(aurora, each, machine, clock, seconds=5)

    assert {stage.fresh(aurora, each).state for each in from_below} == {State.FAILED}
    api = house.api_for(aurora, "alice")
    rows = api.get("/api/v1/quotas?project=aurora/vision").json()["results"]
    assert {(row["used"], row["reserved"], len(row["holds"])) for row in rows} == {(0, 0, 0)}


def test_c28_the_page_ends_with_the_refusal_and_no_cluster_is_asked(aurora, clock, machine):
    quota(aurora, aurora.projects["vision"], 2)
    alice = house.client_for(aurora, "alice")

    form = {"project": "vision", "image": "jupyterlab", "name": "mine", "disk_gib": 1, "kind": "workspace"}
    page = alice.post("/launch", {**form, "shape": "h100-4"})

    assert page.status_code == 409
    assert "2 H100 GPUs over (0 used + 4 asked &gt; 2)" in page.content.decode()
    assert machine.calls == []
    with aurora.scope():
        assert not Workload.objects.exists()


def test_c29_a_limit_of_three_on_the_organisation_holds_by_whichever_way(aurora, clock, machine):
    """Several projects, page and API, a person's own and another's, start again and a disk brought back."""
    quota(aurora, aurora.organization, 3, "workloads")
    alice, olivia = house.api_for(aurora, "alice"), house.api_for(aurora, "olivia")
    body = {"project": "aurora/vision", "kind": "workspace", "shape": "cpu-4", "image": "jupyterlab", "disk_gib": 10}
    first = send(alice, "post", "/api/v1/workloads", body)
    second = send(olivia, "post", "/api/v1/workloads", {**body, "project": "aurora/language"})
    gone = stage.settle(aurora, stage.launch(aurora, shape="cpu-4", now=clock.now), machine, clock, seconds=3)
    stage.wish(aurora, "alice", wishes.delete, gone, clock.now)
    stage.settle(aurora, gone, machine, clock, seconds=5)
    third = stage.launch(aurora, "bob", shape="cpu-4", now=clock.now)
    stage.wish(aurora, "bob", wishes.stop, third, clock.now)
    fourth = send(alice, "post", "/api/v1/workloads", body)
    assert [each.status_code for each in (first, second, fourth)] == [202, 202, 202]

    is_problem(send(alice, "post", "/api/v1/workloads", body), 409, "not_admitted")
    is_problem(send(alice, "post", "/api/v1/workloads", {**body, "volume": str(gone.volume_id)}), 409, "not_admitted")
    is_problem(send(house.api_for(aurora, "bob"), "post", f"/api/v1/workloads/{third.pk}/start"), 409, "not_admitted")
    is_problem(send(olivia, "post", f"/api/v1/workloads/{third.pk}/start"), 409, "not_admitted")
    form = {"project": "vision", "image": "jupyterlab", "name": "mine", "disk_gib": 1, "kind": "workspace"}
    assert house.client_for(aurora, "alice").post("/launch", {**form, "shape": "cpu-4"}).status_code == 409
    with aurora.scope():
        assert Quota.objects.get(project=None, resource="workloads").used == 3


def test_c31_each_level_says_which_it_is_what_was_asked_and_whom_to_ask(aurora, clock):
    quota(aurora, aurora.organization, 1)
    quota(aurora, team(aurora, "perception", "vision"), 2)
    quota(aurora, aurora.projects["vision"], 3)
    quota(aurora, aurora.people["alice"], 0)

    refused = send(
        house.api_for(aurora, "alice"),
        "post",
        "/api/v1/workloads",
        {"project": "aurora/vision", "kind": "workspace", "shape": "h100-4", "image": "jupyterlab", "disk_gib": 10},
    )

    reasons = is_problem(refused, 409, "not_admitted")["reasons"]
    assert [(one["level"], one["resource"], one["asked"], one["used"], one["limit"]) for one in reasons] == [
        ("organization", H100, 4, 0, 1),
        ("team", H100, 4, 0, 2),
        ("project", H100, 4, 0, 3),
        ("user", H100, 4, 0, 0),
    ]
    assert all(one["ask"] for one in reasons)


def test_c32_a_request_without_justification_is_400(aurora):
    with aurora.scope():
        row = Quota.objects.get(project=aurora.projects["vision"], resource=H100)
    asked = {"quota": str(row.pk), "limit": 16}
    api = house.api_for(aurora, "alice")

    for body in (asked, {**asked, "justification": ""}, {**asked, "justification": "too short"}):
        problem = is_problem(send(api, "post", "/api/v1/quota-requests", body), 400, "invalid")
        assert [error["field"] for error in problem["errors"]] == ["justification"]


def test_c32_past_its_end_new_launches_are_denied_and_what_runs_goes_on_and_is_billed(aurora, clock, machine):
    row, end = quota(aurora, aurora.projects["vision"], 1), clock.now + timedelta(minutes=10)
    with house.an_act(), aurora.scope():
        request = quota_requests.ask(
            actor=aurora.actor("alice"),
            quota_id=row.pk,
            limit=8,
            justification="Four for the benchmark.",
            until=end,
            now=clock.now,
        )
    with house.an_act(), aurora.scope():
        quota_requests.approve(actor=aurora.actor("olivia"), request_id=request.pk, now=clock.now)
    workload = stage.settle(aurora, stage.launch(aurora, shape="h100-4", now=clock.now), machine, clock, seconds=3)

    clock.now = end
    with pytest.raises(NotAdmitted) as refused:
        stage.launch(aurora, now=clock.now)
    quota_raises.end_raises(now=clock.now)
    clock.pass_(minutes=10)
    after = stage.settle(aurora, workload, machine, clock, seconds=2)

    [reason] = refused.value.reasons
    assert (reason.code, reason.used, reason.asked, reason.limit) == ("over_quota", 4, 1, 1)
    assert after.state == State.RUNNING
    with aurora.scope():
        assert UsageSession.objects.filter(
            workload_id=workload.pk, component="accelerator", during__upper_inf=True
        ).exists()
    assert Cluster.objects.get().used[H100] == 4


class TestALender:
    """Vision has borrowed the 4 GPUs of language, beside 4 of its own."""

    @pytest.fixture(autouse=True)
    def lent(self, shop, aurora, clock, machine):
        quota(aurora, aurora.projects["vision"], 4, borrow_limit=4)
        quota(aurora, aurora.projects["language"], 4)
        return [
            stage.settle(aurora, stage.launch(aurora, shape="h100-4", now=clock.now), machine, clock, seconds=3)
            for _ in range(2)
        ]

    def ask(self, aurora, clock):
        return stage.launch(aurora, project="language", shape="h100-4", now=clock.now)

    def test_waits_holding_nothing_and_is_told_who_has_its_share_and_by_when_it_is_back(self, aurora, clock, machine):
        waiting = stage.settle(aurora, self.ask(aurora, clock), machine, clock, seconds=3)

        assert (waiting.state, waiting.desired_state, machine.starts) == ("requested", "running", 2)
        reason = waiting.reason
        assert reason is not None
        told = [reason[name] for name in ("code", "level", "asked", "used", "limit")]
        assert told == ["lent_out", "project", 4, 0, 4]
        assert reason["message"] == (
            "4 H100 GPUs asked, within the limit of 4, but 4 are lent to vision (4); 0 free now."
            " Back by 12:00 UTC on 1 December."
        )
        with aurora.scope():
            assert not QuotaHold.objects.filter(holder_id=waiting.pk).exists()
        page = house.client_for(aurora, "alice").get(f"/workspaces/{waiting.pk}").content.decode()
        assert "Waiting for its share" in page
        assert "Back by 12:00 UTC" in page

    def test_starts_when_the_borrower_gives_back(self, aurora, clock, machine, lent):
        waiting = stage.settle(aurora, self.ask(aurora, clock), machine, clock, seconds=2)
        stage.wish(aurora, "alice", wishes.stop, lent[0], clock.now)
        stage.settle(aurora, lent[0], machine, clock, seconds=3)

        tasks.quota_returned(organization_id=str(aurora.organization.pk), workload_id=str(waiting.pk))

        assert stage.settle(aurora, waiting, machine, clock, seconds=3).state == State.RUNNING

    def test_is_not_passed_by_whoever_would_borrow_again(self, aurora, clock, machine, lent):
        waiting = stage.settle(aurora, self.ask(aurora, clock), machine, clock, seconds=2)
        stage.wish(aurora, "alice", wishes.stop, lent[0], clock.now)
        stage.settle(aurora, lent[0], machine, clock, seconds=3)

        with pytest.raises(NotAdmitted) as refused:
            stage.launch(aurora, shape="h100-1", now=clock.now)

        [reason] = refused.value.reasons
        assert reason.code == "nothing_to_borrow"
        assert reason.message.endswith("and language waits for what it has lent.")
        clock.pass_(seconds=61)
        assert stage.settle(aurora, waiting, machine, clock, seconds=3).state == State.RUNNING

    def test_ends_what_is_preemptible_on_its_share_once_which_comes_back_when_there_is_room(
        self, aurora, clock, machine, lent
    ):
        stage.wish(aurora, "alice", wishes.stop, lent[1], clock.now)
        stage.settle(aurora, lent[1], machine, clock, seconds=3)
        shape = {"shape": "h100-4", "preemptible": True}
        borrower = stage.settle(aurora, stage.launch(aurora, now=clock.now, **shape), machine, clock, seconds=3)

        lender = stage.settle(aurora, self.ask(aurora, clock), machine, clock, seconds=1)
        waiting = stage.settle(aurora, borrower, machine, clock, seconds=4)
        clock.pass_(seconds=61)
        running = stage.settle(aurora, lender, machine, clock, seconds=3)

        assert (waiting.state, stage.why(waiting), waiting.desired_state) == ("requested", "preempted", "running")
        assert running.state == State.RUNNING
        assert stage.fresh(aurora, lent[0]).state == State.RUNNING
        with aurora.scope():
            assert AuditEvent.objects.filter(verb="workload.preempted").count() == 1
        page = house.client_for(aurora, "alice").get(f"/workspaces/{borrower.pk}").content.decode()
        assert "It starts again when there is room." in page
        stage.wish(aurora, "alice", wishes.stop, lender, clock.now)
        stage.settle(aurora, lender, machine, clock, seconds=3)
        clock.pass_(seconds=61)
        assert stage.settle(aurora, borrower, machine, clock, seconds=4).state == State.RUNNING

    def test_may_give_up(self, aurora, clock, machine):
        waiting = stage.settle(aurora, self.ask(aurora, clock), machine, clock, seconds=2)

        stage.wish(aurora, "alice", wishes.stop, waiting, clock.now)

        assert stage.settle(aurora, waiting, machine, clock, seconds=2).state == State.STOPPED

    def test_sees_in_the_form_and_by_the_api_that_it_would_wait(self, aurora, clock):
        form = {"project": "language", "image": "jupyterlab", "name": "mine", "disk_gib": "1", "kind": "workspace"}
        page = house.client_for(aurora, "alice").get("/launch/panel", {**form, "shape": "h100-4"}).content.decode()
        body = {"project": "aurora/language", "kind": "workspace", "shape": "h100-4", "image": "jupyterlab"}
        api = house.api_for(aurora, "alice")
        dry = send(api, "post", "/api/v1/workloads?dry_run=true", body).json()
        made = send(api, "post", "/api/v1/workloads", body)

        assert "4 H100 GPUs asked" in page
        assert (dry["admitted"], dry["starts"], dry["waits"]["code"], dry["reasons"]) == (True, "later", "lent_out", [])
        assert (made.status_code, made.json()["state"], made.json()["reason"]["code"]) == (202, "requested", "lent_out")
