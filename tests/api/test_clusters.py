"""Clusters by the API: short for people, whole and changeable for who runs the fleet; nothing unasked is stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core import scope
from core.models import AuditEvent
from provisioning.api.cluster_shapes import NewClusterInput
from provisioning.drivers.base import DriverUnavailable, Unauthorized
from provisioning.models import Cluster, ClusterAccess, Region
from tests import house
from tests.api.ask import is_problem, send
from tests.api.fleet import otto
from tests.fleet import GOOD, registered
from tests.provisioning.test_inventory import h100
from tests.provisioning.test_taking_inventory import take

pytestmark = pytest.mark.django_db
CLUSTERS = "/api/v1/clusters"
NEW = dict(NewClusterInput.example)


@pytest.fixture
def client(aurora):
    Region.objects.create(slug="here", label="Here")
    return house.api_for(aurora, otto(aurora))


def secret_of(cluster) -> str:
    with scope.of_platform():
        return ClusterAccess.objects.get(cluster=cluster).connection.token


class TestRegister:
    def test_it_is_looked_at_and_kept_once_for_a_key(self, client):
        answers = [send(client, "post", CLUSTERS, NEW, Idempotency_Key="one") for _ in range(2)]

        assert [answer.status_code for answer in answers] == [201, 201]
        assert answers[1].headers["Idempotency-Replayed"] == "true"
        assert answers[0].json() == answers[1].json()
        assert NEW["token"] not in answers[0].content.decode()
        cluster = Cluster.objects.get(slug=NEW["slug"])
        assert secret_of(cluster) == NEW["token"]
        whole = client.get(f"{CLUSTERS}/{cluster.pk}").json()
        assert (whole["server"], whole["standing"], whole["health"]) == (NEW["server"], "serving", "unknown")

    def test_all_that_is_missing_is_said_before_anything_is_stored(self, client, fleet):
        fleet.answer = replace(GOOD, missing_rights=("list nodes", "create pods"))
        asked = {**NEW, "region": "moon", "storage_classes": {"standard": "slow"}}

        tried = send(client, "post", f"{CLUSTERS}?dry_run=true", asked).json()
        refused = send(client, "post", CLUSTERS, {**NEW, "storage_classes": {"standard": "slow"}})

        assert [reason["code"] for reason in tried["reasons"]] == ["rights_missing", "storage_class_missing"]
        assert [error["field"] for error in tried["errors"]] == ["region"]
        assert tried["offers"]["missing_rights"] == ["list nodes", "create pods"]
        assert [each["code"] for each in is_problem(refused, 409, "refused")["reasons"]] == [
            "rights_missing",
            "storage_class_missing",
        ]
        assert not Cluster.objects.exists()

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"token": ""}, "token"),
            ({"kubeconfig": "kind: Config"}, "kubeconfig"),
            ({"server": "http://1.1.1.1"}, "server"),
            ({"slug": "LAB!"}, "slug"),
            ({"region": "moon"}, "region"),
            ({"storage_classes": {"gold": "x"}}, "storage_classes"),
        ],
        ids=str,
    )
    def test_what_cannot_be_names_its_field(self, client, change, field):
        problem = is_problem(send(client, "post", CLUSTERS, {**NEW, **change}), 400, "invalid")

        assert problem["errors"][0]["field"] == field

    def test_an_address_in_a_network_of_ones_own_is_not_called(self, client):
        answer = send(client, "post", CLUSTERS, {**NEW, "server": "https://127.0.0.1:6443"})

        assert is_problem(answer, 409, "refused")["reasons"][0]["code"] == "address_not_called"


class TestPeople:
    def test_they_are_told_the_short_form_and_change_nothing(self, aurora):
        cluster = registered()
        alice = house.api_for(aurora, "alice")

        [told] = alice.get(CLUSTERS).json()["results"]

        assert set(told) == {"id", "slug", "label", "region", "simulated_accelerators", "accepts_workloads"}
        is_problem(send(alice, "post", f"{CLUSTERS}/{cluster.pk}/drain"), 404, "not_found")


class TestCredentials:
    def address(self, cluster) -> str:
        return f"{CLUSTERS}/{cluster.pk}/credentials"

    @pytest.mark.parametrize(
        ("answer", "code"),
        [(Unauthorized("no"), "credentials_refused"), (DriverUnavailable("no"), "no_answer")],
        ids=["refused", "away"],
    )
    def test_the_old_ones_stay_until_the_new_ones_answer(self, client, fleet, answer, code):
        cluster = registered()
        fleet.answer = answer

        refused = send(client, "put", self.address(cluster), {"token": "new"})

        assert is_problem(refused, 409, "refused")["reasons"][0]["code"] == code
        assert secret_of(cluster) == "secret"

    def test_new_ones_are_kept_where_it_was_and_told_to_nobody(self, client):
        cluster = registered()

        answer = send(client, "put", self.address(cluster), {"token": "new"})

        assert answer.json()["server"] == "https://1.1.1.1:6443"
        assert secret_of(cluster) == "new"
        with scope.of_platform():
            event = AuditEvent.objects.get(verb="cluster.credentials_changed")
        assert "new" not in {*(event.before or {}).values(), *(event.after or {}).values()}

    def test_those_of_another_cluster_are_refused(self, client, fleet):
        cluster = registered()
        take(cluster, h100(name="one"))
        fleet.listed = (h100(name="else"),)

        is_problem(send(client, "put", self.address(cluster), {"token": "new"}), 409, "another_cluster")

        assert secret_of(cluster) == "secret"
        fleet.listed = (h100(name="one"), h100(name="else"))
        assert send(client, "put", self.address(cluster), {"token": "new"}).status_code == 200


class TestActs:
    def test_what_was_removed_is_listed_no_more(self, client):
        cluster = registered()

        assert client.delete(f"{CLUSTERS}/{cluster.pk}").status_code == 204

        assert client.get(CLUSTERS).json()["results"] == []
        assert client.get(f"{CLUSTERS}/{cluster.pk}").json()["standing"] == "removed"
        is_problem(send(client, "post", f"{CLUSTERS}/{cluster.pk}/cordon"), 409, "cluster_removed")

    def test_a_look_tells_what_it_found(self, client, fleet):
        cluster = registered()
        fleet.answer = DriverUnavailable("it is away")

        told = send(client, "post", f"{CLUSTERS}/{cluster.pk}/check").json()

        assert (told["health"], told["health_reason"]["code"]) == ("unreachable", "no_answer")


class TestChange:
    def test_what_somebody_else_has_changed_since_is_stale(self, client):
        address = f"{CLUSTERS}/{registered().pk}"
        read = client.get(address).headers["ETag"]
        changed = send(client, "patch", address, {"label": "Hall 2"}, If_Match=read)

        late = send(client, "patch", address, {"label": "Hall 3"}, If_Match=read)

        is_problem(late, 412, "stale")
        assert changed.status_code == 200
        assert client.get(address).json()["label"] == "Hall 2"
        assert send(client, "patch", address, {"label": "Hall 3"}, If_Match=changed.headers["ETag"]).status_code == 200
        with scope.of_platform():
            assert AuditEvent.objects.filter(verb="cluster.changed").count() == 2

    def test_another_health_is_another_answer_and_no_other_revision(self, client, fleet):
        address = f"{CLUSTERS}/{registered().pk}"
        read = client.get(address).headers["ETag"]
        assert send(client, "get", address, If_None_Match=read).status_code == 304
        fleet.answer = DriverUnavailable("it is away")
        send(client, "post", f"{address}/check")

        again = send(client, "get", address, If_None_Match=read)
        changed = send(client, "patch", address, {"label": "Hall 2"}, If_Match=read)

        assert (again.status_code, again.json()["health"]) == (200, "unreachable")
        assert changed.status_code == 200

    @pytest.mark.parametrize("tag", ['"none"', '"7"', '"1-short"'])
    def test_a_tag_that_it_never_had_is_stale(self, client, tag):
        cluster = registered()

        is_problem(send(client, "patch", f"{CLUSTERS}/{cluster.pk}", {"label": "Hall 2"}, If_Match=tag), 412, "stale")
