"""The console's pages of clusters: what is there, what acts would do to it, and no secret ever."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core import scope
from provisioning.drivers.base import Unauthorized
from provisioning.models import Cluster, ClusterAccess
from provisioning.services import cluster_health
from tenants.enums import PlatformRole
from tests import house
from tests.fleet import GOOD, answering, registered
from tests.provisioning import stage

pytestmark = pytest.mark.django_db
LAB = "/console/clusters/lab"
KUBECONFIG = """
kind: Config
current-context: one
contexts: [{name: one, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://1.1.1.1:6443"}}]
users: [{name: u, user: {token: hush}}]
"""
NEW = {"label": "The lab", "slug": "lab", "region": "here"}


@pytest.fixture
def client(aurora):
    stage.open_shop()
    house.platform_person(aurora, "otto", PlatformRole.OPERATOR)
    return house.client_for(aurora, "otto")


@pytest.fixture(autouse=True)
def fleet():
    with answering() as found:
        yield found


def shown(client, path=LAB, **query):
    answer = client.get(path, query)
    assert answer.status_code == 200
    return answer.content.decode()


def upload(text: str) -> SimpleUploadedFile:
    return SimpleUploadedFile("kubeconfig", text.encode())


class TestRegister:
    def test_a_file_is_enough_and_what_is_missing_is_said_without_storing_anything(self, client, fleet):
        fleet.answer = replace(GOOD, missing_rights=("list nodes",), default_storage_class="")

        tried = client.post("/console/clusters/new/try", NEW | {"kubeconfig_file": upload(KUBECONFIG)})
        refused = client.post("/console/clusters/new", NEW | {"kubeconfig_file": upload(KUBECONFIG)})

        assert (tried.status_code, refused.status_code) == (200, 409)
        assert all(word in tried.content.decode() for word in ("list nodes", "no default storage class"))
        assert not Cluster.objects.filter(slug="lab").exists()
        fleet.answer = GOOD
        taken = client.post("/console/clusters/new", NEW | {"kubeconfig_file": upload(KUBECONFIG)})
        assert taken.headers["Location"] == LAB

    def test_a_form_that_comes_back_holds_no_secret(self, client):
        secrets = {"kubeconfig": "hush-1", "token": "hush-2", "client_key_pem": "hush-3", "ca_pem": "hush-4"}

        answer = client.post("/console/clusters/new", NEW | secrets)

        assert answer.status_code == 400
        assert "hush" not in answer.content.decode()

    @pytest.mark.parametrize(("content", "says"), [(b"\xff\xfe", "no text"), (b"x" * 300_000, "larger than 256 KiB")])
    def test_what_is_no_kubeconfig_is_told(self, client, content, says):
        answer = client.post("/console/clusters/new", NEW | {"kubeconfig_file": SimpleUploadedFile("k", content)})

        assert answer.status_code == 400
        assert says in answer.content.decode()


class TestPage:
    def test_says_what_is_missing_and_how_it_is_granted(self, client, fleet):
        cluster = registered()
        fleet.answer = replace(GOOD, missing_rights=("create pods",))
        cluster_health.look_again(cluster_id=cluster.pk, now=stage.NOON)

        page = shown(client)

        assert all(word in page for word in ("create pods", "Kueue", "fast (default)", "kubectl apply -f"))
        assert "secret" not in page
        manifest = client.get("/console/clusters/new/access.yaml").content.decode()
        assert "kind: ClusterRole" in manifest

    def test_says_what_acts_do_to_the_work_there(self, client, aurora):
        cluster = registered()
        workload = stage.launch(aurora, shape="cpu-4")
        with aurora.scope():
            type(workload).objects.filter(pk=workload.pk).update(cluster=cluster, state="running")

        page = shown(client)

        assert "<b>1 running workload</b> is stopped now" in page
        assert workload.name in page
        assert client.post(f"{LAB}/drain").headers["Location"] == LAB
        refused = client.post(f"{LAB}/remove")
        assert refused.status_code == 409
        assert "1 running workloads and 0 disks" in refused.content.decode()

    def test_credentials_that_do_not_answer_are_told_and_the_old_ones_stay(self, client, fleet):
        registered()
        fleet.answer = Unauthorized("it does not know them")

        answer = client.post(f"{LAB}/credentials", {"token": "new"})

        assert answer.status_code == 409
        assert "it does not know them" in answer.content.decode()
        with scope.of_platform():
            assert ClusterAccess.objects.get().connection.token == "secret"

    def test_the_list_costs_the_same_for_one_cluster_and_for_many(self, client):
        registered()
        few = _queries(client)
        for number in range(4):
            registered(f"lab-{number}")

        assert _queries(client) == few


def _queries(client) -> int:
    shown(client, "/console/clusters")
    with CaptureQueriesContext(connection) as seen:
        shown(client, "/console/clusters")
    return len(seen)
