"""A cluster is looked at with the account that the shipped manifest makes, and taken into the fleet."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.utils import timezone
from kubernetes import client

from core import scope
from core.outgoing import NotReached
from core.types import system_actor
from provisioning.drivers.base import DriverUnavailable
from provisioning.drivers.kubernetes import rights
from provisioning.drivers.places import Connection
from provisioning.drivers.registry import driver_at
from provisioning.models import Cluster, ClusterAccess
from provisioning.reconciler.sweeping import sweep_inventory
from provisioning.selectors.specs import place_of
from provisioning.services.cluster_health import check_cluster
from provisioning.services.clusters import look_at
from tests.house import Tenant
from tests.kube.access import ACCESS, kubeconfig_of, shipped_account
from tests.kube.conftest import Kinds
from tests.kube.waiting import until
from tests.provisioning.stage import open_shop

SYSTEM = system_actor("test", None)


@pytest.fixture(scope="module")
def account(cluster: Path, kinds: Kinds) -> Connection:
    """A connection with the token of the account that the shipped manifest makes."""
    return shipped_account(cluster, kinds)


def register(connection: Connection, *words: str) -> str:
    said = StringIO()
    call_command("register_cluster", *words, kubeconfig=StringIO(kubeconfig_of(connection)), stdout=said)
    return said.getvalue()


class TestLook:
    def test_the_shipped_account_lacks_nothing(self, account: Connection, api: client.ApiClient) -> None:
        seen = look_at(actor=SYSTEM, connection=account)

        assert seen.missing_rights == ()
        assert seen.version == client.VersionApi(api).get_code().git_version.removeprefix("v")

    def test_what_is_missing_is_named(self, account: Connection, kinds: Kinds) -> None:
        roles = kinds("rbac.authorization.k8s.io/v1", "ClusterRole")
        less = [rule for rule in rights.needed(rights.OPTIONAL) if rule["resources"] != ["statefulsets"]]
        roles.patch(name=rights.ACCOUNT, body={"rules": less}, content_type="application/merge-patch+json")
        try:
            until(lambda: len(look_at(actor=SYSTEM, connection=account).missing_rights) == 4)

            assert "create statefulsets.apps" in look_at(actor=SYSTEM, connection=account).missing_rights
        finally:
            body = {"rules": list(rights.needed(rights.OPTIONAL))}
            roles.patch(name=rights.ACCOUNT, body=body, content_type="application/merge-patch+json")
            until(lambda: not look_at(actor=SYSTEM, connection=account).missing_rights)

    def test_a_wrong_token_is_told(self, account: Connection) -> None:
        with pytest.raises(DriverUnavailable, match=r"credentials|Unauthorized"):
            look_at(actor=SYSTEM, connection=replace(account, token="wrong"))

    def test_another_authority_is_told(self, account: Connection) -> None:
        with pytest.raises(DriverUnavailable, match="certificate"):
            look_at(actor=SYSTEM, connection=replace(account, ca_pem=""))

    def test_nothing_is_asked_in_a_network_that_is_not_allowed(self, account, settings):
        settings.STEELYARD = settings.STEELYARD | {"OUTGOING_NETWORKS": ()}

        with pytest.raises(NotReached, match="not on the public network"):
            look_at(actor=SYSTEM, connection=account)


class TestRegister:
    def test_is_in_the_fleet_with_its_credentials_encrypted(self, account: Connection, aurora: Tenant) -> None:
        open_shop()

        said = register(account, "lab", "--region", "here", "--label", "The lab", "--storage-class", "fast")

        assert said.startswith("lab is registered: Kubernetes 1.")
        with scope.of_platform():
            cluster, access = Cluster.objects.get(slug="lab"), ClusterAccess.objects.get(cluster__slug="lab")
            place = place_of(cluster)
        assert place.connection == replace(account, answer_s=Connection("").answer_s)
        assert dict(place.storage_classes) == {"standard": "fast"}
        assert account.token not in access.secret

    def test_is_looked_at_and_its_nodes_are_listed_with_these_rights_alone(
        self, account: Connection, aurora: Tenant
    ) -> None:
        open_shop()
        register(account, "lab", "--region", "here")
        with scope.of_platform():
            cluster = Cluster.objects.get(slug="lab")

        finding = check_cluster(cluster_id=cluster.pk, drivers=driver_at, now=timezone.now())
        listed = sweep_inventory(drivers=driver_at, clock=timezone.now)

        assert finding is not None
        assert finding.seen is not None
        assert finding.seen.missing_rights == ()
        assert finding.reason is None or finding.reason.code == "no_storage_class"
        assert listed == 1

    def test_what_cannot_be_is_said_and_nothing_is_kept(self, account: Connection, aurora: Tenant) -> None:
        open_shop()
        register(account, "lab", "--region", "here")

        for words, sentence in {
            ("lab", "--region", "here"): "There is a cluster lab already",
            ("lab2", "--region", "moon"): "There is no region 'moon'; there are: here",
            ("LAB!", "--region", "here"): "A slug has 1 to 40",
        }.items():
            with pytest.raises(CommandError, match=sentence):
                register(account, *words)
        with scope.of_platform():
            assert set(Cluster.objects.values_list("slug", flat=True)) == {"local", "lab"}


def test_the_shipped_manifest_is_what_the_platform_asks_for() -> None:
    assert tuple(yaml.safe_load_all(ACCESS.read_text())) == rights.access()
