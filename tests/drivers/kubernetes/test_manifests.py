"""The manifests, word by word. To take new ones after a wanted change: STEELYARD_SNAPSHOTS=write pytest (this file)."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from provisioning.drivers.base import RunSpec
from provisioning.drivers.jobs import ArrayRun
from provisioning.drivers.kubernetes import (
    dasks,
    exporting,
    jobs,
    names,
    namespaces,
    queues,
    rays,
    runs,
    volumes,
    workspaces,
)
from provisioning.drivers.kubernetes.namespaces import INTERNET, Egress, Ground
from provisioning.drivers.kubernetes.reading import part, rows, words
from provisioning.drivers.places import Place, Topology

SNAPSHOTS = Path(__file__).with_name("snapshots")
PLACE = Place("kubernetes", UUID(int=0xC), None, (("fast", "nvme"), ("standard", "ceph")))
SPEC = RunSpec(
    workload_id=UUID(int=0xA),
    organization_id=UUID(int=0xB),
    project_id=UUID(int=0xD),
    volume_id=UUID(int=0xE),
    kind="workspace",
    image="registry.example/jupyter:1",
    vcpus=2,
    memory_gib=8,
    disk_gib=20,
    env={"PRICE": "$(HOME) and $5", "HOME": "/elsewhere"},
)
WITH_ACCELERATORS = replace(SPEC, accelerator="H100", accelerator_count=2)
A_JOB = replace(SPEC, kind="job", command=("python", "train.py", "--price", "$5"))
WORKERS = replace(WITH_ACCELERATORS, kind="job", command=("torchrun", "train.py"), workers=4)
SWEEP = (("LR", ("0.1", "it's")), ("SEED", ("1", "2")))
TASKS = ArrayRun(tasks=(0, 2, 3), count=4, sweep=SWEEP, retries=2, fatal_codes=(7,), stops_at_failure=True)
AN_ARRAY = replace(A_JOB, workers=2, array=TASKS)
ON_SPOT = replace(WITH_ACCELERATORS, kind="job", command=("python", "train.py"), spot=True, attempt=3, interruptions=2)
DASK = replace(WITH_ACCELERATORS, kind="cluster", framework="dask", workers=3)
RAY = replace(WITH_ACCELERATORS, kind="cluster", framework="ray", workers=4)
RACKS = Topology("racks", ("example.com/block", "example.com/rack", "kubernetes.io/hostname"))
QUEUEING = replace(PLACE, offers=("kueue",), topology=RACKS)
PRODUCTS = (("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"), ("nvidia.com/gpu.product", "Tesla-T4"))
LIMITS = {"vcpus": 64, "memory_gib": 512, "accelerators": 8, "accelerators/H100": 16, "storage_gib": 100}
OPEN = Ground(
    egress=(INTERNET, Egress("10.1.0.0/16", ports=(443, 5432))),
    pod_security="baseline",
    limits=(("requests.nvidia.com/gpu", "8"),),
    pull_secrets=("registry",),
)


def ground(of: Ground) -> tuple[dict[str, object], ...]:
    return namespaces.manifests(
        cluster_id=PLACE.cluster_id, organization_id=SPEC.organization_id, project_id=SPEC.project_id, ground=of
    )


def queues_with(topology: Topology | None) -> tuple[dict[str, object], ...]:
    flavors = queues.flavors(PRODUCTS, topology)
    queue = queues.cluster_queue(PLACE.cluster_id, SPEC.organization_id, LIMITS, flavors)
    return (*map(queues.flavor, flavors), queue, queues.local_queue(A_JOB, PLACE))


WRITTEN = {
    "namespace": lambda: exporting.as_yaml(ground(Ground())),
    "namespace-opened": lambda: exporting.as_yaml(ground(OPEN)),
    "volume": lambda: exporting.as_yaml((volumes.claim(SPEC, PLACE),)),
    "workspace": lambda: exporting.as_yaml((workspaces.workspace(SPEC, PLACE, "run-1"),)),
    "workspace-with-accelerators": lambda: exporting.as_yaml(
        (workspaces.workspace(WITH_ACCELERATORS, PLACE, "run-1"),)
    ),
    "job": lambda: exporting.as_yaml((jobs.job(A_JOB, PLACE, "run-1"),)),
    "job-of-workers": lambda: exporting.exported(WORKERS, PLACE, Ground()),
    "array": lambda: exporting.as_yaml((jobs.job(AN_ARRAY, PLACE, "run-1"),)),
    "job-on-spot": lambda: exporting.as_yaml((jobs.job(ON_SPOT, PLACE, "run-1"),)),
    "dask": lambda: exporting.as_yaml((dasks.cluster(DASK, PLACE, "run-1"),)),
    "ray": lambda: exporting.as_yaml((rays.cluster(RAY, PLACE, "run-1"),)),
    "exported": lambda: exporting.exported(SPEC, PLACE, Ground()),
    "queued-job-of-workers": lambda: exporting.as_yaml((runs.manifest(WORKERS, QUEUEING, "run-1"),)),
    "queues": lambda: exporting.as_yaml(queues_with(None)),
    "queues-with-topology": lambda: exporting.as_yaml(queues_with(RACKS)),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_manifest_reads_as_it_was_agreed(name: str) -> None:
    written, file = WRITTEN[name](), SNAPSHOTS / f"{name}.yaml"
    if os.environ.get("STEELYARD_SNAPSHOTS") == "write":
        file.write_text(written)

    assert written == file.read_text()


class TestNames:
    def test_no_name_is_longer_than_a_label_may_be(self) -> None:
        widest = UUID(int=2**128 - 1)
        found = (
            names.namespace_of(widest),
            names.pod_of(widest),
            names.claim_of(widest),
            f"{names.set_of(widest)}-0123456789",
        )

        assert max(map(len, found)) <= 63
        assert len(names.record_of(widest).rpartition("/")[2]) <= 63

    def test_names_come_from_ids_alone(self) -> None:
        renamed = replace(SPEC, image="other", vcpus=4, env={})

        ours, theirs = (workspaces.workspace(spec, PLACE, "run-1")["metadata"] for spec in (SPEC, renamed))

        assert ours == theirs


class TestAWorkspace:
    def pod(self, spec: RunSpec) -> dict[str, object]:
        return part(workspaces.workspace(spec, PLACE, "run-1"), "spec", "template", "spec")

    def container(self, spec: RunSpec) -> dict[str, object]:
        (container,) = rows(self.pod(spec), "containers")
        return container

    def test_the_server_listens_on_the_pods_loopback_alone(self) -> None:
        container = self.container(SPEC)

        assert "--ServerApp.ip=127.0.0.1" in words(container, "command")
        assert "ports" not in container

    def test_peoples_variables_are_texts_and_do_not_move_the_home(self) -> None:
        env = {each["name"]: each["value"] for each in rows(self.container(SPEC), "env")}

        assert env["PRICE"] == "$$(HOME) and $$5"
        assert env["HOME"] == "/home/work"

    def test_an_accelerator_is_asked_for_and_its_nodes_alone(self) -> None:
        limits = part(self.container(WITH_ACCELERATORS), "resources", "limits")

        assert limits["nvidia.com/gpu"] == "2"
        assert "NVIDIA-H100-80GB-HBM3" in str(self.pod(WITH_ACCELERATORS)["affinity"])
        assert "nvidia" not in str(self.pod(SPEC))

    def test_a_volume_without_a_class_of_its_tier_takes_the_clusters_own(self) -> None:
        claim = volumes.claim(SPEC, replace(PLACE, storage_classes=()))

        assert "storageClassName" not in part(claim, "spec")


class TestTheGround:
    def test_a_pod_security_that_does_not_exist_is_refused(self) -> None:
        with pytest.raises(ValueError, match="restricted"):
            ground(Ground(pod_security="none"))

    def test_another_ground_is_another_fingerprint(self) -> None:
        assert namespaces.fingerprint(ground(Ground())) == namespaces.fingerprint(ground(Ground()))
        assert namespaces.fingerprint(ground(Ground())) != namespaces.fingerprint(ground(OPEN))

    def test_an_export_needs_nobody_to_let_its_pod_go(self) -> None:
        assert "finalizers" not in exporting.exported(SPEC, PLACE, Ground())
