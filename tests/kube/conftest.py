"""One Kubernetes for all tests of this folder (they share a worker, tests/order.py). What lacks is said in a line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path
from uuid import uuid4

import pytest
from kubernetes import client, config
from kubernetes.dynamic import DynamicClient, Resource
from pytest_django import Settings

from tests import house
from tests.house import Tenant
from tests.kube.clusters import Lab, fake_nodes, running_lab, why_no_lab, why_no_real_node
from tests.kube.lab.binaries import binaries
from tests.kube.lab.dask_operator import environment
from tests.kube.lab.operating import OPERATORS
from tests.kube.rig import KubeRig, connection_in
from tests.kube.waiting import until

HERE = Path(__file__).parent
WORKSPACE = HERE.parent.parent / ".venv-workspace"
Kinds = Callable[[str, str], Resource]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.kube)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _own_network(settings: Settings) -> None:
    """The API server of the tests is on this machine or in one's own network."""
    networks = tuple(ip_network(each) for each in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
    settings.STEELYARD = settings.STEELYARD | {"OUTGOING_NETWORKS": networks}


@pytest.fixture
def aurora(db: None) -> Tenant:
    """With ids that no test before had: its namespaces are on a cluster that outlives the test."""
    return house.aurora()


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The lab itself, for tests that stop its parts or add to it; none where KUBECONFIG names another cluster."""
    if os.environ.get("KUBECONFIG"):
        pytest.skip("KUBECONFIG names a cluster, and this test needs the lab.")
    _demand(why_no_lab())
    with running_lab(tmp_path_factory.mktemp("kube")) as found:
        yield found


@pytest.fixture(scope="package")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of an administrator; the cluster has fake nodes (labelled type=fake) on which pods seem to run."""
    if named := os.environ.get("KUBECONFIG"):
        with fake_nodes(named, tmp_path_factory.mktemp("volumes")):
            yield Path(named)
    else:
        yield request.getfixturevalue("lab").kubeconfig


@pytest.fixture(scope="package")
def api(cluster: Path) -> client.ApiClient:
    """A client of the administrator, for looking and for making a mess."""
    found: client.ApiClient = config.new_client_from_config(str(cluster))
    return found


@pytest.fixture(scope="package")
def kinds(api: client.ApiClient) -> Kinds:
    """`kinds("v1", "Pod").get(…)`: the dynamic client, for every kind there is."""
    dynamic = DynamicClient(api)
    return lambda version, kind: dynamic.resources.get(api_version=version, kind=kind)


@pytest.fixture
def namespace(kinds: Kinds) -> Iterator[str]:
    """A namespace of the test's own."""
    name = f"test-{uuid4().hex[:12]}"
    kinds("v1", "Namespace").create(body={"metadata": {"name": name}})
    accounts = kinds("v1", "ServiceAccount")
    until(lambda: accounts.get(namespace=name).items)  # pods need it, and a controller makes it
    yield name
    kinds("v1", "Namespace").delete(name=name)


@pytest.fixture
def rig(cluster: Path) -> Iterator[KubeRig]:
    """The driver at the simulated nodes, and what tells them how to behave; nothing of it is left afterwards."""
    rig = KubeRig(connection_in(cluster))
    with rig.playing():
        yield rig
        rig.clear()


@pytest.fixture(scope="package")
def kueue(cluster: Path, kuberay: Path, api: client.ApiClient, request: pytest.FixtureRequest) -> Path:
    """The cluster with Kueue, which looks ever more seldom for kinds that were not there when it started: KubeRay comes
    first. From its start on Kueue's webhooks stand before every pod of the session."""
    _with_operator("kueue", "kueue.x-k8s.io", api, request)
    return cluster


@pytest.fixture(scope="package")
def kuberay(cluster: Path, api: client.ApiClient, request: pytest.FixtureRequest) -> Path:
    """The cluster with KubeRay: RayClusters get ready, no Ray runs in them."""
    _with_operator("kuberay", "ray.io", api, request)
    return cluster


@pytest.fixture(scope="package")
def dask(cluster: Path, api: client.ApiClient, request: pytest.FixtureRequest) -> Path:
    """The cluster with the Dask operator: DaskClusters get ready, no Dask runs in them."""
    if "kubernetes.dask.org" not in {one.name for one in client.ApisApi(api).get_api_versions().groups}:
        lab: Lab = request.getfixturevalue("lab")
        if not (environment() / "whole").exists():
            _demand("the Dask operator is not installed yet: tests/kube/lab/lab build dask")
        lab.run("up", "--dask")
    return cluster


@pytest.fixture(scope="package")
def real_node(lab: Lab) -> Iterator[str]:
    """A node that truly runs containers, with two pretended accelerators of the returned product, which no other node
    has. Its image localhost/python:1 is the workspaces' Python environment, JupyterLab and all."""
    if reason := why_no_real_node(WORKSPACE):
        pytest.skip(reason)
    try:
        lab.real_node("up", "2", "NVIDIA-L4", venv=WORKSPACE)
        yield "NVIDIA-L4"
    finally:
        lab.real_node("down", venv=WORKSPACE)


def _demand(why_not: str) -> None:
    if why_not and os.environ.get("CI") == "true":
        pytest.fail(why_not)
    if why_not:
        pytest.skip(why_not)


def _with_operator(name: str, group: str, api: client.ApiClient, request: pytest.FixtureRequest) -> None:
    """Started in our lab; on another cluster it is there or it is not."""
    if group in {one.name for one in client.ApisApi(api).get_api_versions().groups}:
        return
    lab: Lab = request.getfixturevalue("lab")
    folder = OPERATORS[name].folder
    if not binaries(folder).exists():
        _demand(f"{name} is not built yet: tests/kube/lab/lab build {folder}")
    lab.run("up", f"--{name}")
