"""What is offered, and the disks."""

from __future__ import annotations

import pytest
from django.test import Client

from provisioning.services import wishes
from tests import house
from tests.api.ask import UNKNOWN, is_problem, send
from tests.provisioning import stage

CATALOGUE = ["regions", "accelerators", "shapes", "images", "clusters"]


class TestShapes:
    def test_tell_size_price_and_what_is_free(self, aurora, alice, running):
        told = {one["slug"]: one for one in alice.get("/api/v1/shapes").json()["results"]}

        assert list(told) == ["cpu-4", "h100-1", "h100-4", "h100-8"]
        four = told["h100-4"]
        assert (four["accelerator"], four["accelerator_count"], four["vcpus"], four["memory_gib"]) == (
            "H100",
            4,
            64,
            800,
        )
        assert four["price_per_hour"] == {"amount": "11.80", "currency": "USD"}
        assert (four["capacity_kind"], four["simulated"]) == ("on_demand", True)
        assert {slug: one["free_now"] for slug, one in told.items() if slug != "cpu-4"} == {
            "h100-1": 7,
            "h100-4": 1,
            "h100-8": 0,
        }
        assert told["cpu-4"]["simulated"] is False


@pytest.mark.parametrize("name", CATALOGUE)
class TestCatalogue:
    def test_each_listed_thing_has_an_address(self, alice, name):
        for listed in alice.get(f"/api/v1/{name}").json()["results"]:
            assert alice.get(f"/api/v1/{name}/{listed['id']}").json() == listed

    def test_what_is_not_offered_is_404(self, alice, name):
        is_problem(alice.get(f"/api/v1/{name}/{UNKNOWN}"), 404, "not_found")

    def test_an_unchanged_thing_is_304(self, alice, name):
        first = alice.get(f"/api/v1/{name}")

        assert send(alice, "get", f"/api/v1/{name}", If_None_Match=first.headers["ETag"]).status_code == 304

    def test_nobody_unknown_reads_it(self, db, name):
        is_problem(Client().get(f"/api/v1/{name}"), 401, "not_authenticated")


class TestVolumes:
    def test_a_kept_disk_tells_until_when_it_can_be_brought_back(self, aurora, alice, running, machine, clock):
        path = f"/api/v1/volumes/{running.volume_id}"
        present = alice.get(path).json()
        stage.wish(aurora, "alice", wishes.delete, running, clock.now)
        stage.settle(aurora, running, machine, clock, seconds=3)

        kept = alice.get(path).json()

        assert (present["state"], present["purge_after"]) == ("present", None)
        assert (kept["state"], kept["size_gib"], kept["owner"]["label"]) == ("kept", 10, "alice@aurora.example")
        assert kept["purge_after"]
        assert [one["id"] for one in alice.get("/api/v1/volumes?state=kept").json()["results"]] == [kept["id"]]
        assert alice.get("/api/v1/volumes?state=present").json()["results"] == []

    def test_a_strangers_disk_does_not_exist(self, borealis, running):
        charlie = house.api_for(borealis, "charlie")

        is_problem(charlie.get(f"/api/v1/volumes/{running.volume_id}"), 404, "not_found")
        assert charlie.get("/api/v1/volumes").json()["results"] == []
