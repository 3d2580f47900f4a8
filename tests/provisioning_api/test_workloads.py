"""Workloads through the API: seen, wished for, opened, followed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from provisioning.drivers import registry
from provisioning.models import EntryCode
from provisioning.services import wishes
from tests import house
from tests.api.ask import UNKNOWN, is_problem, send
from tests.provisioning import stage
from tests.provisioning_api.asking import WORKLOADS, address, events, launch

ACTS = [("post", "stop"), ("post", "start"), ("post", "extend"), ("delete", "")]


class TestOneWorkload:
    def test_tells_state_stop_and_cost(self, alice, running):
        told = alice.get(address(running)).json()

        assert (told["state"], told["desired_state"], told["simulated"]) == ("running", "running", True)
        assert told["will_stop_at"]
        assert (told["stop"]["rule"], told["stop"]["last_signal"]) == ("idle", "start")
        assert {one["type"]: one["status"] for one in told["conditions"]}["ready"] == "true"
        assert told["cost"]["per_hour"] == {"amount": "2.951", "currency": "USD"}
        assert told["cost"]["so_far"]["currency"] == "USD"
        assert told["cost"]["as_of"]

    def test_a_stopped_one_pays_for_its_disk_alone(self, aurora, alice, running, machine, clock):
        stage.wish(aurora, "alice", wishes.stop, running, clock.now)
        stage.settle(aurora, running, machine, clock, seconds=3)

        told = alice.get(address(running)).json()

        assert (told["state"], told["reason"]["code"]) == ("stopped", "stopped_by_person")
        assert (told["will_stop_at"], told["stop"]) == (None, None)
        assert told["cost"]["per_hour"]["amount"] == "0.001"

    def test_its_variables_are_shown_to_its_owner_alone(self, aurora, alice, clock):
        workload = stage.launch(aurora, env={"KEY": "value"}, now=clock.now)

        assert alice.get(address(workload)).json()["env"] == {"KEY": "value"}
        assert house.api_for(aurora, "bob").get(address(workload)).json()["env"] is None

    def test_an_unchanged_one_is_304(self, alice, queued):
        first = alice.get(address(queued))

        second = send(alice, "get", address(queued), If_None_Match=first.headers["ETag"])

        assert (second.status_code, second.content) == (304, b"")

    def test_a_strangers_workload_does_not_exist(self, borealis, queued):
        charlie = house.api_for(borealis, "charlie")
        for part in ("", "events", "logs", "usage"):
            is_problem(charlie.get(address(queued, part)), 404, "not_found")

    def test_one_who_has_no_role_in_the_project_learns_nothing(self, aurora, clock):
        elsewhere = stage.launch(aurora, project="language", now=clock.now)
        bob = house.api_for(aurora, "bob")

        is_problem(bob.get(address(elsewhere)), 404, "not_found")
        for method, part in [*ACTS, ("post", "open")]:
            is_problem(send(bob, method, address(elsewhere, part)), 404, "not_found")


class TestWishes:
    def test_each_is_answered_202_and_may_be_repeated(self, aurora, alice, running, machine, clock):
        for method, part, verb in (
            ("post", "extend", "workload.extended"),
            ("post", "stop", "workload.stop_requested"),
            ("post", "start", "workload.start_requested"),
            ("delete", "", "workload.delete_requested"),
        ):
            for _ in range(2):
                response = send(alice, method, address(running, part))
                assert response.status_code == 202, response.content
                assert response.headers["Location"] == address(running)
                assert response.headers["ETag"]
            assert len(events(aurora, verb=verb, outcome="done")) == 2
            stage.settle(aurora, running, machine, clock, seconds=3)

    def test_extend_tells_until_when(self, alice, running):
        told = send(alice, "post", address(running, "extend")).json()

        assert told["kept_until"] == told["will_stop_at"]

    def test_extend_of_what_does_not_run_is_409(self, alice, queued):
        is_problem(send(alice, "post", address(queued, "extend")), 409, "wrong_state")

    def test_a_viewer_is_told_which_permission_is_missing(self, aurora, victor, running):
        for method, part in ACTS:
            problem = is_problem(send(victor, method, address(running, part)), 403, "permission_denied")
            assert problem["permission"] == "operate_workload"
        assert len(events(aurora, outcome="denied")) == len(ACTS)

    def test_a_team_mate_may_not_act_on_anothers(self, aurora, running):
        bob = house.api_for(aurora, "bob")

        assert is_problem(send(bob, "post", address(running, "stop")), 403, "permission_denied")["permission"] == (
            "operate_workload"
        )

    def test_an_owner_of_the_organisation_may(self, aurora, running):
        assert send(house.api_for(aurora, "olivia"), "post", address(running, "stop")).status_code == 202

    def test_an_act_takes_no_body(self, alice, running):
        is_problem(send(alice, "post", address(running, "stop"), {"force": True}), 400, "invalid")


class TestRename:
    def test_changes_the_name_and_the_version(self, alice, queued):
        tag = alice.get(address(queued)).headers["ETag"]

        response = send(alice, "patch", address(queued), {"name": "training"}, If_Match=tag)

        assert (response.status_code, response.json()["name"]) == (200, "training")
        assert response.headers["ETag"] != tag
        is_problem(send(alice, "patch", address(queued), {"name": "again"}, If_Match=tag), 412, "stale")

    def test_a_stale_delete_is_412_and_deletes_nothing(self, alice, queued):
        tag = alice.get(address(queued)).headers["ETag"]
        send(alice, "patch", address(queued), {"name": "training"})

        is_problem(send(alice, "delete", address(queued), If_Match=tag), 412, "stale")
        assert alice.get(address(queued)).json()["desired_state"] == "running"

    @pytest.mark.parametrize(
        ("change", "code"),
        [({"name": "x", "shape": "cpu-4"}, "unknown_field"), ({}, "required"), ({"name": "Ä"}, "malformed")],
    )
    def test_what_cannot_be_meant_is_400(self, alice, queued, change, code):
        problem = is_problem(send(alice, "patch", address(queued), change), 400, "invalid")

        assert [error["code"] for error in problem["errors"]] == [code]

    def test_a_taken_name_is_409(self, alice, queued):
        launch(alice, "cpu-4", name="lab")

        is_problem(send(alice, "patch", address(queued), {"name": "lab"}), 409, "name_taken")


class TestOpen:
    def test_gives_a_one_time_address_at_the_workspaces_own_origin(self, aurora, alice, running):
        response = send(alice, "post", address(running, "open"))

        assert response.status_code == 200, response.content
        assert f"//{running.label}." in response.json()["url"]
        assert response.json()["expires_at"]
        assert len(events(aurora, verb="workload.opened", outcome="done")) == 1

    def test_the_address_is_not_kept_with_the_key(self, aurora, alice, running):
        first = send(alice, "post", address(running, "open"), Idempotency_Key="click")
        again = send(alice, "post", address(running, "open"), Idempotency_Key="click")

        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.json() == {"expires_at": first.json()["expires_at"]}
        with aurora.scope():
            assert EntryCode.objects.count() == 1

    def test_what_does_not_run_cannot_be_opened(self, alice, queued):
        is_problem(send(alice, "post", address(queued, "open")), 409, "wrong_state")

    @pytest.mark.parametrize("person", ["bob", "victor", "olivia"])
    def test_nobody_but_its_owner_opens_it(self, aurora, running, person):
        response = send(house.api_for(aurora, person), "post", address(running, "open"))

        assert response.status_code in (403, 404)
        with aurora.scope():
            assert not EntryCode.objects.exists()

    def test_strangers_find_nothing(self, borealis, running):
        is_problem(send(house.api_for(borealis, "boris"), "post", address(running, "open")), 404, "not_found")


class TestHistory:
    def test_events_tell_the_timeline_newest_first(self, aurora, alice, running):
        told = alice.get(address(running, "events")).json()["results"]

        assert told[-1]["code"] == "workload.launched"
        assert told[-1]["actor"] == {"id": str(aurora.people["alice"].pk), "label": "alice@aurora.example"}
        assert [one["at"] for one in told] == sorted((one["at"] for one in told), reverse=True)

    def test_logs_come_from_the_driver(self, alice, running, machine):
        with registry.using("local", machine):
            told = alice.get(address(running, "logs") + "?tail=5").json()

        assert told["lines"] == ["line"]

    @pytest.mark.parametrize("query", ["tail=0", "tail=2001", "tail=x", "follow=maybe", "lines=5"])
    def test_a_log_that_cannot_be_meant_is_400(self, alice, running, query):
        is_problem(alice.get(f"{address(running, 'logs')}?{query}"), 400, "invalid")

    def test_the_log_of_nobodys_workload_is_404(self, alice):
        is_problem(alice.get(f"{WORKLOADS}/{UNKNOWN}/logs"), 404, "not_found")

    def test_usage_tells_what_was_held(self, aurora, alice):
        clock = stage.Clock(timezone.now() - timedelta(hours=1))
        machine = stage.Machine(clock)
        running = stage.settle(aurora, stage.launch(aurora, now=clock.now), machine, clock, seconds=3)
        assert running.bound_at is not None
        clock.now = running.bound_at + timedelta(minutes=30)
        stage.wish(aurora, "alice", wishes.stop, running, clock.now)
        stage.settle(aurora, running, machine, clock, seconds=3)

        told = {one["component"]: one for one in alice.get(address(running, "usage")).json()["results"]}

        assert set(told) == {"accelerator", "disk"}
        assert (told["accelerator"]["quantity"], told["disk"]["to"]) == ("1.000000", None)
        assert told["disk"]["quantity"] == "10.000000"
        assert told["accelerator"]["duration_seconds"] == "1800.000000"
        assert told["accelerator"]["cost"] == {"amount": "1.48", "currency": "USD"}


class TestList:
    def test_holds_what_one_may_see_newest_first(self, aurora, alice, clock):
        first = stage.launch(aurora, now=clock.now)
        second = stage.launch(aurora, shape="cpu-4", project="language", now=clock.now)

        mine = alice.get(WORKLOADS).json()["results"]
        bobs = house.api_for(aurora, "bob").get(WORKLOADS).json()["results"]

        assert [one["id"] for one in mine] == [str(second.pk), str(first.pk)]
        assert [one["id"] for one in bobs] == [str(first.pk)]
        assert mine[1]["project"] == {"id": str(aurora.projects["vision"].pk), "label": "vision"}
        assert mine[1]["owner"]["label"] == "alice@aurora.example"

    def test_a_strangers_list_holds_none(self, borealis, queued):
        assert house.api_for(borealis, "boris").get(WORKLOADS).json()["results"] == []

    def test_filters_narrow_it(self, aurora, alice, queued, clock):
        other = stage.launch(aurora, "bob", shape="cpu-4", now=clock.now)
        stage.wish(aurora, "bob", wishes.stop, other, clock.now)
        bob = aurora.people["bob"].pk

        for query, found in (
            ("project=aurora/vision", {queued.pk, other.pk}),
            ("project=aurora/language", set()),
            ("kind=workspace", {queued.pk, other.pk}),
            ("state=stopped", {other.pk}),
            ("state=queued", {queued.pk}),
            (f"owner={bob}", {other.pk}),
            (f"owner={bob}&state=queued", set()),
        ):
            told = alice.get(f"{WORKLOADS}?{query}").json()["results"]
            assert {one["id"] for one in told} == {str(key) for key in found}, query

    @pytest.mark.parametrize("query", ["colour=red", "state=happy", "kind=party", "owner=alice", "limit=0"])
    def test_an_unknown_filter_is_400(self, alice, query):
        is_problem(alice.get(f"{WORKLOADS}?{query}"), 400, "invalid")

    def test_a_strangers_project_is_404(self, aurora, borealis):
        is_problem(house.api_for(borealis, "boris").get(f"{WORKLOADS}?project=aurora/vision"), 404, "not_found")

    def test_deleted_ones_are_listed_where_asked_for(self, aurora, alice, queued, machine, clock):
        stage.wish(aurora, "alice", wishes.delete, queued, clock.now)
        stage.settle(aurora, queued, machine, clock, seconds=3)

        assert alice.get(WORKLOADS).json()["results"] == []
        assert [one["id"] for one in alice.get(f"{WORKLOADS}?state=deleted").json()["results"]] == [str(queued.pk)]

    def test_an_unchanged_list_is_304_and_a_changed_one_is_not(self, alice, queued):
        tag = alice.get(WORKLOADS).headers["ETag"]

        same = send(alice, "get", WORKLOADS, If_None_Match=tag)
        send(alice, "patch", address(queued), {"name": "training"})
        changed = send(alice, "get", WORKLOADS, If_None_Match=tag)

        assert (same.status_code, same.content, changed.status_code) == (304, b"", 200)

    @pytest.mark.parametrize("part", ["", "?project=aurora/vision&state=queued", "/events", "/usage"])
    def test_costs_the_same_queries_however_long(self, aurora, alice, running, clock, part):
        path = address(running, part[1:]) if part.startswith("/") else WORKLOADS + part

        def cost() -> int:
            with CaptureQueriesContext(connection) as caught:
                assert alice.get(path).status_code == 200
            return len(caught)

        cost()
        before = cost()
        for _ in range(5):
            stage.launch(aurora, shape="cpu-4", now=clock.now)
            stage.wish(aurora, "alice", wishes.extend, running, clock.now)

        assert cost() == before
