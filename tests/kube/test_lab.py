"""What the tests of this folder stand on: a real API server, and fake nodes that are taken for real ones."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes.client import ApiClient, VersionApi
from kubernetes.dynamic.exceptions import BadRequestError

from tests.kube.clusters import NODES, PRODUCT
from tests.kube.conftest import Kinds
from tests.kube.waiting import until


def pod(name: str, **spec: object) -> dict[str, object]:
    """On a fake node, with one accelerator."""
    amounts = {"cpu": "1", "nvidia.com/gpu": "1"}
    container = {"name": "main", "image": "local/none:1", "resources": {"requests": amounts, "limits": amounts}}
    parts = {"nodeSelector": {"type": "fake"}, "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": parts}


def running(kinds: Kinds, namespace: str, name: str) -> Any:
    found = kinds("v1", "Pod").get(name=name, namespace=namespace)
    return found if found.status.phase == "Running" else None


def test_the_api_server_tells_its_version(api: ApiClient) -> None:
    version = VersionApi(api).get_code()

    assert (int(version.major), int(version.minor.rstrip("+"))) >= (1, 30)


def test_the_fake_nodes_are_ready_and_have_accelerators(kinds: Kinds) -> None:
    nodes = kinds("v1", "Node").get(label_selector="type=fake").items

    assert len(nodes) == NODES
    assert {node.status.allocatable["nvidia.com/gpu"] for node in nodes} == {"8"}
    assert {node.metadata.labels["nvidia.com/gpu.product"] for node in nodes} == {PRODUCT}
    assert all(any(c.type == "Ready" and c.status == "True" for c in node.status.conditions) for node in nodes)


def test_a_pod_gets_a_node_and_an_address(kinds: Kinds, namespace: str) -> None:
    kinds("v1", "Pod").create(body=pod("one"), namespace=namespace)

    found = until(lambda: running(kinds, namespace, "one"))

    assert found.spec.nodeName.startswith("gpu-")
    assert found.status.podIP


def test_a_claim_gets_a_volume_and_loses_it(kinds: Kinds, namespace: str) -> None:
    claims, volumes = kinds("v1", "PersistentVolumeClaim"), kinds("v1", "PersistentVolume")
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims.create(body={"metadata": {"name": "disk"}, "spec": size}, namespace=namespace)
    mounted = pod("one", volumes=[{"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}])
    kinds("v1", "Pod").create(body=mounted, namespace=namespace)

    until(lambda: running(kinds, namespace, "one"))
    name = claims.get(name="disk", namespace=namespace).spec.volumeName
    assert volumes.get(name=name).status.phase == "Bound"
    kinds("v1", "Pod").delete(name="one", namespace=namespace)
    claims.delete(name="disk", namespace=namespace)

    until(lambda: name not in {one.metadata.name for one in volumes.get().items})


def test_an_unknown_field_is_refused_where_validation_is_strict(kinds: Kinds, namespace: str) -> None:
    strict = [("fieldValidation", "Strict")]

    with pytest.raises(BadRequestError) as refused:
        kinds("v1", "Pod").create(body=pod("typo", restartPolice="Never"), namespace=namespace, query_params=strict)

    assert 'unknown field \\"spec.restartPolice\\"' in str(refused.value.body)
