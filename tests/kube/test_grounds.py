"""The ground of projects on two clusters: closed as it is written, and closed again when somebody opened it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from provisioning.drivers.base import RunSpec
from provisioning.drivers.ground import Drift, GroundProof
from provisioning.drivers.kubernetes import rights
from provisioning.drivers.kubernetes.driver import KubernetesDriver
from provisioning.drivers.kubernetes.names import namespace_of
from provisioning.drivers.kubernetes.namespaces import Egress, Ground
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.reading import Json, at, part
from provisioning.enums import Drifted
from tests.drivers.rig import a_spec
from tests.kube.rig import KubeRig, connection_in


@pytest.fixture
def other(cluster: Path) -> Iterator[KubeRig]:
    """A second cluster of the fleet, as far as the platform can tell."""
    rig = KubeRig(connection_in(cluster))
    with rig.playing():
        yield rig
        rig.clear()


def policy(spec: RunSpec, name: str) -> str:
    return path("NetworkPolicy", namespace_of(spec.project_id), name)


def told(proof: GroundProof) -> list[tuple[UUID, str, Drifted, str]]:
    return [(drift.project_id, drift.thing, drift.how, drift.by) for drift in proof.drifts]


def test_what_somebody_opened_is_closed_again_under_the_least_rights(rig: KubeRig) -> None:
    spec = a_spec()
    rig.present(spec)
    driver = rig.with_rights(rights.needed(()))
    assert driver.keep_ground() == GroundProof(1)
    namespace = path("Namespace", name=namespace_of(spec.project_id))
    open_policy: Json = {"spec": {"ingress": [{}], "egress": [{}]}}
    rig.api.merge(policy(spec, "default-deny"), open_policy, manager="somebody")
    rig.api.delete(policy(spec, "allow-names"))
    rig.api.merge(
        namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}, manager="x"
    )

    found = driver.keep_ground()

    assert sorted(told(found)) == [
        (spec.project_id, f"Namespace {namespace_of(spec.project_id)}", Drifted.CHANGED, "x"),
        (spec.project_id, "NetworkPolicy allow-names", Drifted.MISSING, ""),
        (spec.project_id, "NetworkPolicy default-deny", Drifted.CHANGED, "somebody"),
    ]
    closed = part(rig.api.get(policy(spec, "default-deny")), "spec")
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    assert rig.api.get(policy(spec, "allow-names")) is not None
    level = at(rig.api.get(namespace), "metadata", "labels", "pod-security.kubernetes.io/enforce")
    assert level == "restricted"
    assert driver.keep_ground() == GroundProof(1)


def test_a_policy_of_somebody_else_is_named_and_left(rig: KubeRig) -> None:
    spec = a_spec()
    rig.present(spec)
    namespace = namespace_of(spec.project_id)
    foreign: Json = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "let-me-in", "namespace": namespace},
        "spec": {"podSelector": {}, "ingress": [{}]},
    }
    rig.api.create(path("NetworkPolicy", namespace), foreign, fieldManager="somebody")

    found = [rig.driver.keep_ground() for _ in range(2)]

    drift = Drift(spec.project_id, "NetworkPolicy let-me-in", Drifted.FOREIGN, "somebody")
    assert found == [GroundProof(1, (drift,))] * 2
    assert rig.api.get(policy(spec, "let-me-in")) is not None


def test_one_policy_reaches_every_cluster_and_no_alarm_rings(rig: KubeRig, other: KubeRig) -> None:
    spec = a_spec()
    specs = [spec, replace(a_spec(), organization_id=spec.organization_id)]
    for each, one in zip((rig, other), specs, strict=True):
        each.present(one)
    wanted = Ground(egress=(Egress("203.0.113.0/24", ports=(443,)),))

    proofs = [KubernetesDriver(each.driver.place, wanted).keep_ground() for each in (rig, other)]

    assert proofs == [GroundProof(1, renewed=1)] * 2
    for each, one in zip((rig, other), specs, strict=True):
        declared = part(each.api.get(policy(one, "allow-declared")), "spec")
        assert "203.0.113.0/24" in str(declared)
    assert [KubernetesDriver(each.driver.place, wanted).keep_ground() for each in (rig, other)] == [GroundProof(1)] * 2


def test_c120_nothing_outside_the_project_reaches_a_pod(rig: KubeRig) -> None:
    """As the cluster keeps it: every pod is selected, and only pods of its own namespace are let in."""
    spec = a_spec()
    rig.present(spec)

    policies = rig.api.list(path("NetworkPolicy", namespace_of(spec.project_id)))

    assert all(part(each, "spec", "podSelector") == {} for each in policies)
    assert any("Ingress" in str(at(each, "spec", "policyTypes")) for each in policies)
    ways_in = [way for each in policies for way in (at(each, "spec", "ingress") or [])]  # type: ignore[attr-defined]
    assert ways_in == [{"from": [{"podSelector": {}}]}]
