"""A cluster's nodes as they come and go on a real API server, asked by the sweep that production runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from django.utils import timezone

from provisioning.drivers.base import DriverUnavailable
from provisioning.drivers.kubernetes import rights
from provisioning.drivers.kubernetes.client import Api, Forbidden
from provisioning.drivers.kubernetes.driver import KubernetesDriver
from provisioning.drivers.kubernetes.nodes import nodes_of
from provisioning.drivers.places import Connection
from provisioning.drivers.registry import driver_at
from provisioning.enums import Standing
from provisioning.inventory import NodeFacts
from provisioning.models import CapacityInterval, Cluster, ClusterAccess, Node, Region
from provisioning.reconciler import sweeping
from provisioning.reconciler.watching import Watchman
from tests.drivers.rig import until
from tests.kube.clusters import NODES
from tests.kube.rig import KubeRig, connection_in

OURS = "steelyard-test-inventory"


@pytest.fixture
def connection(cluster: Path) -> Connection:
    return connection_in(cluster)


@pytest.fixture
def nodes(connection: Connection) -> Iterator[Nodes]:
    found = Nodes(Api(connection))
    yield found
    found.remove()


@pytest.fixture
def row(db: None, connection: Connection) -> Cluster:
    region = Region.objects.create(slug="there", label="There")
    nothing = {"accelerators": {}, "vcpus": 0, "memory_gib": 0}
    made = Cluster.objects.create(slug="there", label="There", driver="kubernetes", region=region, capacity=nothing)
    access = ClusterAccess(cluster=made, changed_at=timezone.now())
    access.connection = connection
    access.save()
    return made


class Nodes:
    """One node of the test's own, with accelerators of a model that no other node has; no kubelet stands behind it."""

    def __init__(self, api: Api) -> None:
        self.api, self.name = api, f"{OURS}-{uuid4().hex[:8]}"
        self.where = f"/api/v1/nodes/{self.name}"

    def add(self, gpus: int = 8) -> None:
        labels = {"nvidia.com/gpu.product": "NVIDIA-L40S", "cloud.provider.com/topology-rack": "rack-9"}
        self.api.create(
            "/api/v1/nodes", {"kind": "Node", "apiVersion": "v1", "metadata": {"name": self.name, "labels": labels}}
        )
        size = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": str(gpus)}
        self.say(capacity=size, allocatable=size, conditions=[{"type": "Ready", "status": "True"}])

    def say(self, **status: object) -> None:
        self.api.merge(f"{self.where}/status", {"status": status})

    def cordon(self, *, on: bool) -> None:
        self.api.merge(self.where, {"spec": {"unschedulable": on}})

    def remove(self) -> None:
        self.api.delete(self.where)


def sweep(row: Cluster) -> tuple[int, int]:
    """L40S that there are, and of them out of service."""
    assert sweeping.sweep_inventory(drivers=driver_at, clock=timezone.now) == 1
    return l40s_of(row)


def l40s_of(row: Cluster) -> tuple[int, int]:
    row.refresh_from_db()
    return row.capacity["accelerators"].get("L40S", 0), row.out_of_service.get("accelerators/L40S", 0)


def test_what_a_node_has_is_capacity_as_long_as_it_stands(row: Cluster, nodes: Nodes) -> None:
    nodes.add()
    assert sweep(row) == (8, 0)
    assert row.capacity["accelerators"]["H100"] == 8 * NODES
    assert Node.objects.get(cluster=row, name=nodes.name).topology["rack"] == "rack-9"

    nodes.cordon(on=True)
    assert sweep(row) == (8, 8)
    found = Node.objects.get(cluster=row, name=nodes.name)
    assert (found.standing, found.reason) == (Standing.CORDONED, "It is cordoned.")

    nodes.cordon(on=False)
    assert sweep(row) == (8, 0)

    nodes.say(allocatable={"nvidia.com/gpu": "6"})
    assert sweep(row) == (8, 2)

    nodes.remove()
    assert sweep(row) == (0, 0)
    spans = CapacityInterval.objects.filter(node__name=nodes.name).order_by("during__startswith")
    assert [(span.count, span.during.upper_inf) for span in spans] == [(8, False), (8, False), (6, False)]


def test_a_node_that_is_cordoned_is_out_of_capacity_long_before_the_next_list(row: Cluster, nodes: Nodes) -> None:
    """By the watches alone: nothing sweeps here."""
    watchman = Watchman(
        drivers=driver_at,
        clock=timezone.now,
        look_at_nodes=lambda key: sweeping.list_nodes(cluster_id=key, drivers=driver_at, clock=timezone.now),
    )

    def known_after(act: Callable[[], None], there: tuple[int, int]) -> None:
        act()
        end = time.monotonic() + 30.0
        while l40s_of(row) != there:
            assert time.monotonic() < end
            watchman.turn()

    try:
        watchman.attend()
        known_after(nodes.add, (8, 0))
        known_after(lambda: nodes.cordon(on=True), (8, 8))
        known_after(nodes.remove, (0, 0))
    finally:
        watchman.leave(list(watchman.listening))


def test_a_list_in_pages_is_the_whole_list(connection: Connection) -> None:
    api = Api(connection)

    paged = nodes_of(api, page=1)

    assert len(paged) >= NODES
    assert {node.uid for node in paged} == {node.uid for node in nodes_of(api)}
    assert {node.accelerators[0].offered_as for node in paged if node.name.startswith("gpu-")} == {"H100"}


def test_the_rights_that_are_written_down_are_enough(connection: Connection) -> None:
    rig = KubeRig(connection)
    try:
        least = rig.with_rights(rights.WORKSPACES)

        assert len(until(lambda: _listed(least), len)) >= NODES
    finally:
        rig.clear()


def _listed(driver: KubernetesDriver) -> tuple[NodeFacts, ...]:
    """A right that was just given is not there at once."""
    try:
        return driver.nodes()
    except Forbidden:
        return ()


def test_what_is_no_list_of_nodes_is_no_answer(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Api, "get", lambda *_, **__: None)

    with pytest.raises(DriverUnavailable, match="does not list its nodes"):
        nodes_of(Api(connection))
