"""Policies and approvals through the API, and what a launch says of them."""

from __future__ import annotations

import pytest
from django.utils import timezone

from core import scope
from tests import governed, house
from tests.api.ask import send
from tests.house import an_act
from tests.provisioning import stage

pytestmark = pytest.mark.django_db
LAUNCH = {"project": "aurora/vision", "kind": "workspace", "shape": "h100-4", "image": "jupyterlab", "disk_gib": 10}
BIG = {
    "slug": "big",
    "title": "Large launches",
    "kind": "approval_above",
    "terms": {"accelerators": 1},
    "mode": "enforce",
}


@pytest.fixture
def shop(db):
    stage.open_shop()


@pytest.fixture
def olivia(aurora, shop):
    return house.api_for(aurora, "olivia")


@pytest.fixture
def alice(aurora, shop):
    return house.api_for(aurora, "alice")


def ask(client, method, path, body=None):
    return send(client, method, f"/api/v1/{path}", body)


class TestLaunchingUnderPolicies:
    def test_the_dry_run_says_that_somebody_must_agree_and_which_rule_asks(self, olivia, alice):
        assert ask(olivia, "post", "policies", BIG).status_code == 201

        verdict = ask(alice, "post", "workloads?dry_run=true", LAUNCH).json()

        assert (verdict["admitted"], verdict["needs_approval"], verdict["deciders"]) == (False, True, 1)
        assert [(each["code"], each["rule"]) for each in verdict["reasons"]] == [("approval_needed", "big")]
        assert {each["shape"] for each in verdict["alternatives"]} == {"h100-1", "cpu-4"}

    def test_a_launch_that_waits_is_taken_and_decided_by_api(self, olivia, alice):
        ask(olivia, "post", "policies", BIG)

        launched = ask(alice, "post", "workloads", {**LAUNCH, "justification": "The big run."})

        assert launched.status_code == 202
        body = launched.json()
        assert (body["state"], body["reason"]["code"], body["reason"]["rule"]) == (
            "requested",
            "awaiting_approval",
            "big",
        )
        [waiting] = ask(olivia, "get", "approvals?mine=to_decide").json()["results"]
        assert (waiting["subject"]["id"], waiting["justification"]) == (body["id"], "The big run.")
        assert ask(alice, "post", f"approvals/{waiting['id']}/approve", {}).status_code == 403
        approved = ask(olivia, "post", f"approvals/{waiting['id']}/approve", {"comment": "Go on."})
        assert (approved.status_code, approved.json()["state"]) == (200, "approved")
        assert ask(olivia, "get", "approvals?mine=to_decide").json()["results"] == []

    def test_observed_rules_are_warnings(self, olivia, alice):
        ask(olivia, "post", "policies", {**BIG, "mode": "observe"})

        verdict = ask(alice, "post", "workloads?dry_run=true", LAUNCH).json()

        assert (verdict["admitted"], [each["rule"] for each in verdict["warnings"]]) == (True, ["big"])


class TestPreview:
    def test_it_counts_what_would_have_gone_otherwise_by_project(self, aurora, olivia):
        for shape in ("h100-1", "h100-4", "cpu-4"):
            stage.launch(aurora, shape=shape, now=timezone.now())

        denied = ask(olivia, "post", "policies/preview", {"kind": "accelerators", "terms": {"models": []}}).json()
        asked = ask(olivia, "post", "policies/preview", {"kind": "approval_above", "terms": {"accelerators": 1}}).json()

        assert (denied["launches"], denied["denied"], denied["approval"]) == (3, 2, 0)
        assert denied["by_project"] == [{"project": "aurora/vision", "denied": 2, "approval": 0, "stopped": 0}]
        assert (asked["denied"], asked["approval"]) == (0, 1)

    def test_it_costs_a_constant_number_of_queries(self, aurora, olivia, django_assert_max_num_queries):
        for _ in range(6):
            stage.launch(aurora, shape="cpu-4", now=timezone.now())

        with django_assert_max_num_queries(40):
            ask(olivia, "post", "policies/preview", {"kind": "accelerators", "terms": {"models": []}})

    def test_a_developer_may_not_ask_and_nonsense_is_named(self, olivia, alice):
        body = {"kind": "accelerators", "terms": {"models": []}}

        assert ask(alice, "post", "policies/preview", body).status_code == 403
        wrong = ask(olivia, "post", "policies/preview", {"kind": "idle_stop", "terms": {"seconds": "soon"}})
        assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "terms.seconds")


class TestPolicies:
    def test_they_are_listed_changed_and_retired(self, olivia, alice, aurora):
        policy = governed.ruled(aurora)
        address = f"policies/{policy.pk}"

        assert [each["set_by"] for each in ask(alice, "get", "policies").json()["results"]] == ["organization"]
        changed = ask(olivia, "patch", address, {"terms": {"accelerators": 2}, "mode": "enforce"}).json()
        assert [each["number"] for each in changed["versions"]] == [2, 1]
        assert ask(alice, "patch", address, {"mode": "off"}).status_code == 403
        assert ask(olivia, "delete", address).status_code == 204
        assert ask(olivia, "get", address).status_code == 404

    def test_the_platforms_are_shown_and_not_changed_here(self, olivia, aurora):
        with an_act(), scope.of_platform():
            policy = governed.platform_rule()

        [shown] = ask(olivia, "get", "policies").json()["results"]
        assert (shown["set_by"], shown["slug"]) == ("platform", "at-home")
        assert ask(olivia, "patch", f"policies/{policy.pk}", {"mode": "off"}).status_code in (403, 404)
