"""A launch through the API: the dry run, the wish, the refusal."""

from __future__ import annotations

import pytest
from django.utils import timezone

from core.models import IdempotencyKey
from provisioning.models import Volume, Workload
from provisioning.services import wishes
from tenants.models import Quota
from tenants.services import quotas
from tests import house
from tests.api.ask import is_problem, send
from tests.provisioning import stage
from tests.provisioning_api.asking import WORKLOADS, body, events, launch, would

USD = "USD"


def limit(tenant, resource: str, amount: int) -> None:
    with tenant.scope():
        quota = Quota.objects.get(project=tenant.projects["vision"], resource=resource)
    with house.an_act(), tenant.scope():
        quotas.set_limit(
            actor=tenant.actor("olivia"), quota_id=quota.pk, limit=amount, now=timezone.now(), expected_version=None
        )


def living(tenant) -> int:
    with tenant.scope():
        return Workload.objects.count()


class TestLaunch:
    def test_is_answered_202_with_the_object_and_its_address(self, aurora, alice):
        response = launch(alice, env={"TEAM": " vision "})

        assert response.status_code == 202, response.content
        told = response.json()
        assert response.headers["Location"] == f"{WORKLOADS}/{told['id']}"
        assert (told["state"], told["desired_state"], told["name"]) == ("queued", "running", "notebook")
        assert told["project"]["label"] == "vision"
        assert (told["disk_gib"], told["env"]) == (10, {"TEAM": " vision "})
        shown = alice.get(response.headers["Location"])
        assert shown.headers["ETag"] == response.headers["ETag"]
        assert [event.verb for event in events(aurora, object_id=told["id"])] == ["workload.launched"]

    def test_takes_a_project_by_id_too(self, aurora, alice):
        assert launch(alice, project=str(aurora.projects["vision"].pk)).status_code == 202

    def test_takes_a_usual_disk_where_none_is_named(self, alice):
        wish = body()
        del wish["disk_gib"]

        assert send(alice, "post", WORKLOADS, wish).json()["disk_gib"] == 20

    def test_a_taken_name_is_409(self, alice):
        launch(alice, name="lab")

        is_problem(launch(alice, name="lab"), 409, "name_taken")

    @pytest.mark.parametrize(
        ("change", "field", "code"),
        [
            ({"shape": "tpu"}, "shape", "unknown"),
            ({"image": "tpu"}, "image", "unknown"),
            ({"kind": "party"}, "kind", "invalid_choice"),
            ({"name": "Not Legal"}, "name", "malformed"),
            ({"disk_gib": 0}, "disk_gib", "min_value"),
            ({"disk_gib": "10"}, "disk_gib", "invalid"),
            ({"env": {"a b": "c"}}, "env", "malformed"),
            ({"env": {"A": 5}}, "env.A", "invalid"),
            ({"gpu": 1}, "gpu", "unknown_field"),
            ({"volume": "0199aa00-0000-7000-8000-00000000dead"}, "volume", "unknown"),
        ],
    )
    def test_what_cannot_be_meant_names_its_field(self, alice, change, field, code):
        for answer in (
            send(alice, "post", WORKLOADS, {**body(), **change}),
            send(alice, "post", f"{WORKLOADS}?dry_run=true", {**body(), **change}),
        ):
            problem = is_problem(answer, 400, "invalid")
            assert [(error["field"], error["code"]) for error in problem["errors"]] == [(field, code)]

    def test_a_viewer_is_told_which_permission_is_missing(self, aurora, victor):
        assert is_problem(launch(victor), 403, "permission_denied")["permission"] == "launch_workload"
        [event] = events(aurora, verb="workload.launched")
        assert event.outcome == "denied"

    def test_a_strangers_project_does_not_exist(self, aurora, borealis):
        charlie = house.api_for(borealis, "charlie")

        is_problem(launch(charlie, project=str(aurora.projects["vision"].pk)), 404, "not_found")
        is_problem(would(charlie, project="aurora/vision"), 404, "not_found")

    def test_a_deleted_workloads_disk_comes_back(self, aurora, alice, running, machine, clock):
        stage.wish(aurora, "alice", wishes.delete, running, clock.now)
        stage.settle(aurora, running, machine, clock, seconds=3)

        response = launch(alice, volume=str(running.volume_id), name="again")

        assert response.status_code == 202, response.content
        assert response.json()["volume"] == str(running.volume_id)
        with aurora.scope():
            assert Volume.objects.get(pk=running.volume_id).state == "present"

    def test_a_team_mate_does_not_get_anothers_files(self, aurora, running, machine, clock):
        stage.wish(aurora, "alice", wishes.delete, running, clock.now)
        stage.settle(aurora, running, machine, clock, seconds=3)

        problem = is_problem(launch(house.api_for(aurora, "bob"), volume=str(running.volume_id)), 400, "invalid")

        assert [error["field"] for error in problem["errors"]] == ["volume"]


class TestOnceAndOnceOnly:
    def test_a_double_click_makes_one_workload(self, aurora, alice):
        first, second = launch(alice, key="click"), launch(alice, key="click")

        assert (first.status_code, second.status_code) == (202, 202)
        assert second.headers["Idempotency-Replayed"] == "true"
        assert second.headers["Location"] == first.headers["Location"]
        assert second.json() == first.json()
        assert living(aurora) == 1

    def test_another_wish_under_the_same_key_is_422(self, alice):
        launch(alice, key="click")

        is_problem(launch(alice, "cpu-4", key="click"), 422, "idempotency_key_reused")

    def test_a_refusal_may_be_tried_again_under_its_key(self, aurora, alice):
        limit(aurora, "workloads", 0)
        refused = launch(alice, key="click")
        limit(aurora, "workloads", 1)

        assert (refused.status_code, launch(alice, key="click").status_code) == (409, 202)

    def test_a_dry_run_leaves_its_key_unspent(self, aurora, alice):
        send(alice, "post", f"{WORKLOADS}?dry_run=true", body(), Idempotency_Key="click")

        with aurora.scope():
            assert not IdempotencyKey.objects.exists()
        assert launch(alice, key="click").status_code == 202


class TestRefusals:
    def test_c28_over_quota_is_told_beforehand_with_its_numbers(self, aurora, alice):
        stage.launch(aurora, shape="h100-8", now=timezone.now())

        told = would(alice, "h100-4")
        refused = launch(alice, "h100-4")

        assert told.status_code == 200
        reason = next(one for one in told.json()["reasons"] if one.get("resource") == "accelerators/H100")
        assert (reason["used"], reason["asked"], reason["limit"]) == (8, 4, 10)
        assert reason["message"].startswith("2 H100 GPUs over (8 used + 4 asked > 10)")
        assert is_problem(refused, 409, "not_admitted")["reasons"] == told.json()["reasons"]
        assert living(aurora) == 1

    def test_c31_every_reason_carries_its_numbers_and_whom_to_ask(self, aurora, alice):
        for resource in ("workloads", "vcpus", "storage_gib"):
            limit(aurora, resource, 0)

        problem = is_problem(launch(alice), 409, "not_admitted")

        assert {one["resource"]: (one["asked"], one["used"], one["limit"]) for one in problem["reasons"]} == {
            "workloads": (1, 0, 0),
            "vcpus": (16, 0, 0),
            "storage_gib": (10, 0, 0),
        }
        assert all(one["ask"] and one["message"] for one in problem["reasons"])
        [event] = events(aurora, verb="workload.launched")
        assert (event.outcome, event.object_id) == ("denied", str(aurora.projects["vision"].pk))

    def test_c29_three_are_admitted_by_whichever_way_and_never_four(self, aurora, alice):
        limit(aurora, "workloads", 3)
        made = [launch(alice, "cpu-4") for _ in range(2)]
        bob = launch(house.api_for(aurora, "bob"), "cpu-4")
        gone = made[0].json()["id"]
        send(alice, "post", f"{WORKLOADS}/{gone}/stop")
        made.append(launch(alice, "cpu-4"))

        assert [one.status_code for one in [*made, bob]] == [202] * 4
        is_problem(launch(house.api_for(aurora, "olivia"), "cpu-4"), 409, "not_admitted")
        is_problem(send(alice, "post", f"{WORKLOADS}/{gone}/start"), 409, "not_admitted")
        with aurora.scope():
            assert Quota.objects.get(project=aurora.projects["vision"], resource="workloads").used == 3


class TestDryRun:
    def test_stores_nothing_and_is_no_act(self, aurora, alice):
        response = would(alice)

        assert response.status_code == 200
        assert living(aurora) == 0
        assert events(aurora, verb="workload.launched") == []
        with aurora.scope():
            assert Quota.objects.get(project=aurora.projects["vision"], resource="workloads").used == 0

    def test_tells_price_quota_and_name(self, alice):
        told = would(alice).json()

        assert (told["admitted"], told["reasons"], told["starts"], told["name"]) == (True, [], "now", "notebook")
        assert told["running"] == {
            "per_hour": {"amount": "2.951", "currency": USD},
            "per_month": {"amount": "2154.23", "currency": USD},
        }
        assert told["stopped"] == {
            "per_hour": {"amount": "0.001", "currency": USD},
            "per_month": {"amount": "0.73", "currency": USD},
        }
        line = next(one for one in told["quotas"] if one["resource"] == "accelerators/H100")
        assert line == {
            "resource": "accelerators/H100",
            "limit": 10,
            "used": 0,
            "asked": 1,
            "left": 10,
            "level": "project",
            "place": "vision",
        }
        assert told["simulated"] is True

    def test_tells_what_waits_and_what_would_start_instead(self, aurora, alice, machine, clock):
        workload = stage.launch(aurora, shape="h100-4", now=clock.now)
        stage.settle(aurora, workload, machine, clock, seconds=3)
        limit(aurora, "accelerators/H100", 100)

        told = would(alice, "h100-8").json()
        made = launch(alice, "h100-8").json()

        assert (told["admitted"], told["starts"]) == (True, "later")
        assert made["reason"] == told["waits"]
        other = told["alternatives"][0]
        assert (other["shape"], other["difference_per_hour"]["amount"]) == ("h100-4", "-11.80")

    @pytest.mark.parametrize("shape", ["cpu-4", "h100-1", "h100-4", "h100-8"])
    @pytest.mark.parametrize("resource", ["workloads", "accelerators", "memory_gib"])
    def test_says_what_the_launch_then_says(self, aurora, alice, shape, resource):
        limit(aurora, resource, 3)

        told = would(alice, shape).json()
        made = launch(alice, shape)

        if told["admitted"]:
            assert made.status_code == 202
            assert made.json()["name"] == told["name"]
        else:
            assert is_problem(made, 409, "not_admitted")["reasons"] == told["reasons"]

    def test_tells_a_taken_name_as_the_launch_does(self, alice):
        launch(alice, name="lab")

        [reason] = would(alice, name="lab").json()["reasons"]
        problem = is_problem(launch(alice, name="lab"), 409, "name_taken")

        assert (reason["code"], reason["message"]) == (problem["code"], problem["detail"])

    def test_tells_a_disk_in_use_as_the_launch_does(self, alice, running):
        [reason] = would(alice, "cpu-4", volume=str(running.volume_id)).json()["reasons"]
        problem = is_problem(launch(alice, "cpu-4", volume=str(running.volume_id)), 409, "volume_unavailable")

        assert (reason["code"], reason["message"]) == (problem["code"], problem["detail"])

    def test_tells_a_viewer_that_the_launch_is_not_theirs(self, victor):
        told = would(victor).json()

        assert [one["code"] for one in told["reasons"]] == ["permission_denied"]

    @pytest.mark.parametrize("word", ["yes", "1", "TRUE", ""])
    def test_takes_true_or_false(self, alice, word):
        is_problem(send(alice, "post", f"{WORKLOADS}?dry_run={word}", body()), 400, "invalid")
