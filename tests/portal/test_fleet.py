"""The console's fleet: what clusters have to give, what of it is out of service, and why."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from portal.web.console import fleet
from provisioning.drivers.base import Placed
from provisioning.models import Cluster
from provisioning.services.inventory import take_placement
from tenants.enums import PlatformRole
from tests import house
from tests.provisioning import stage
from tests.provisioning.test_inventory import facts, h100
from tests.provisioning.test_taking_inventory import make_cluster, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(aurora):
    house.platform_person(aurora, "otto", PlatformRole.OPERATOR)
    return house.client_for(aurora, "otto")


def page(client, **query):
    answer = client.get("/console/fleet", query)
    assert answer.status_code == 200
    return answer.content.decode()


class TestFleet:
    def test_says_what_is_out_of_service_and_why(self, client):
        take(
            make_cluster(),
            h100(name="good"),
            h100(name="bad", unschedulable=True),
            facts({"example.com/npu": "4"}, name="odd"),
        )

        shown = page(client)

        assert "8 of 8 H100 in service" in shown
        assert "0 of 8 H100 in service" in shown
        assert shown.count('<i class="out">') == 8
        assert "It is cordoned." in shown
        assert "4 example.com/npu" in shown
        assert "style=" not in shown

    def test_shows_what_runs_where(self, client, aurora):
        stage.open_shop()
        workload = stage.launch(aurora)
        cluster = make_cluster()
        take(cluster, h100(name="one"), h100(name="two"))
        take_placement(cluster_id=cluster.pk, placed=[Placed("one", workload.pk, (("nvidia.com/gpu", 3),))])

        shown = page(client)

        assert "8 of 8 H100 in service, 3 occupied" in shown
        assert shown.count('<i class="used">') == 3
        assert workload.name in shown
        take_placement(cluster_id=cluster.pk, placed=[])
        assert "occupied" not in page(client).split('id="nodes"')[1]

    def test_says_how_a_cluster_stands_and_is_and_why(self, client):
        cluster = make_cluster()
        why = {"code": "no_answer", "message": "It does not answer."}
        Cluster.objects.filter(pk=cluster.pk).update(standing="cordoned", health="unreachable", health_reason=why)

        shown = page(client)

        assert all(word in shown for word in ("cordoned", "unreachable", "It does not answer."))
        Cluster.objects.filter(pk=cluster.pk).update(standing="removed", active=False)
        assert "It does not answer." not in page(client)

    def test_a_node_that_is_gone_is_not_shown(self, client):
        cluster = make_cluster()
        take(cluster, h100(name="gone-one"), minutes=0)
        take(cluster, h100(name="other"), minutes=1)

        assert "gone-one" not in page(client)

    def test_pages_follow_each_other_without_a_gap(self, client, monkeypatch):
        monkeypatch.setattr(fleet, "PAGE", 2)
        cluster = make_cluster()
        take(cluster, *(h100(name=name) for name in ("n1", "n2", "n3")))

        first, second = page(client), page(client, cluster=cluster.slug, after="n2")

        assert ["<b>n2</b>" in first, "<b>n3</b>" in first, "after=n2" in first] == [True, False, True]
        assert ["<b>n2</b>" in second, "<b>n3</b>" in second, "after=" in second] == [False, True, False]

    def test_costs_the_same_for_many_nodes(self, client):
        cluster = make_cluster()
        take(cluster, h100(), minutes=0)
        few = _queries(client)
        take(cluster, *(h100(name=f"n{n}") for n in range(30)), minutes=1)

        assert _queries(client) == few

    def test_an_auditor_of_the_platform_does_not_operate_it(self, aurora):
        house.platform_person(aurora, "ada", PlatformRole.AUDITOR)

        assert house.client_for(aurora, "ada").get("/console/fleet").status_code in (403, 404)


def _queries(client):
    page(client)
    with CaptureQueriesContext(connection) as seen:
        page(client)
    return len(seen)
