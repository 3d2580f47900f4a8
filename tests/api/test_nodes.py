"""The list of nodes: for those who run the fleet."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tenants.enums import PlatformRole
from tests import house
from tests.provisioning.test_inventory import h100
from tests.provisioning.test_taking_inventory import make_cluster, take

pytestmark = pytest.mark.django_db
NODES = "/api/v1/nodes"


@pytest.fixture
def otto(aurora):
    house.platform_person(aurora, "otto", PlatformRole.OPERATOR)
    return house.client_for(aurora, "otto")


class TestNodes:
    def test_nobody_else_learns_of_them(self, aurora):
        assert house.client_for(aurora, "olivia").get(NODES).status_code == 404

    def test_a_platform_auditor_does_not_run_the_fleet(self, aurora):
        house.platform_person(aurora, "audra", PlatformRole.AUDITOR)

        assert house.client_for(aurora, "audra").get(NODES).status_code == 403

    def test_each_tells_what_it_has_and_how_it_stands(self, otto):
        take(make_cluster(), h100(name="good"), h100(name="bad", unschedulable=True))

        found = {row["name"]: row for row in otto.get(NODES).json()["results"]}

        assert {name: (row["standing"], row["reason"]) for name, row in found.items()} == {
            "good": ("in_service", ""),
            "bad": ("cordoned", "It is cordoned."),
        }
        (devices,) = found["good"]["accelerators"]
        assert (devices["offered_as"], devices["count"], devices["healthy"]) == ("H100", 8, 8)

    def test_they_can_be_narrowed(self, otto):
        cluster = make_cluster()
        take(cluster, h100(name="good"), h100(name="bad", unschedulable=True))

        resting = otto.get(NODES, {"cluster": cluster.slug, "standing": "cordoned"}).json()["results"]

        assert [row["name"] for row in resting] == ["bad"]
        assert otto.get(NODES, {"cluster": "elsewhere"}).json()["results"] == []
        assert otto.get(NODES, {"colour": "red"}).status_code == 400

    def test_what_is_gone_is_left_out_and_more_cost_no_more_queries(self, otto):
        cluster = make_cluster()
        take(cluster, h100(name="one"), minutes=0)
        otto.get(NODES)
        with CaptureQueriesContext(connection) as few:
            otto.get(NODES)
        take(cluster, *(h100(name=f"n{index}") for index in range(20)), minutes=1)

        with CaptureQueriesContext(connection) as many:
            found = otto.get(NODES).json()["results"]

        assert "one" not in {row["name"] for row in found}
        assert len(many) <= len(few)
