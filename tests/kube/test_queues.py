"""Where a cluster has Kueue: jobs stand in its queues, under our quotas, and what it takes back comes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from provisioning.drivers.base import Observation, Phase, RunSpec
from provisioning.drivers.kubernetes import queues, rights
from provisioning.drivers.kubernetes.capabilities import capabilities_of
from provisioning.drivers.kubernetes.driver import KubernetesDriver
from provisioning.drivers.kubernetes.names import CLUSTER, name_of_run, namespace_of
from provisioning.drivers.kubernetes.objects import KUEUE, path
from provisioning.drivers.kubernetes.queueing import workload_of
from provisioning.drivers.kubernetes.reading import Json, at, name_of, number, rows, text
from provisioning.drivers.places import Topology
from provisioning.enums import Kind, State
from provisioning.models import Event
from provisioning.types import JobSpec
from tests.drivers.rig import SETTLED, a_spec, until
from tests.house import Tenant
from tests.kube.clusters import PRODUCT
from tests.kube.rig import KubeRig
from tests.kube.test_lives import Life, born

RACK = "cloud.provider.com/topology-rack"


@dataclass
class Queued:
    """The rig, with the rights that are shipped and no others, on a cluster that is known to have Kueue."""

    rig: KubeRig
    driver: KubernetesDriver

    def limit(self, organization_id: UUID, **limits: int) -> tuple[str, ...]:
        return self.driver.keep_queues({organization_id: {k.replace("__", "/"): n for k, n in limits.items()}})

    def queue(self, organization_id: UUID) -> Json:
        return self.rig.api.get(path("ClusterQueue", name=queues.queue_of(organization_id))) or {}

    def change(self, organization_id: UUID, spec: Mapping[str, object]) -> None:
        self.rig.api.merge(path("ClusterQueue", name=queues.queue_of(organization_id)), {"spec": spec}, manager="other")

    def present(self, spec: RunSpec) -> Observation:
        self.rig.give_disk(spec)
        return self.driver.ensure_present(spec)

    def until(self, spec: RunSpec, code: str) -> Observation:
        return until(lambda: self.driver.observe(spec), lambda o: o.reason is not None and o.reason.code == code)

    def until_ready(self, spec: RunSpec) -> Observation:
        seen = until(lambda: self.driver.observe(spec), lambda o: o.ready or o.phase in SETTLED)
        assert seen.ready, seen
        return seen

    def job(self, spec: RunSpec) -> Json:
        where = path("Job", namespace_of(spec.project_id), name_of_run("job", spec.workload_id))
        return self.rig.api.get(where) or {}


@pytest.fixture
def kept(kueue: Path, rig: KubeRig) -> Iterator[Queued]:
    administrator, least = rig.driver, rig.with_rights(rights.needed(("kueue", "kuberay")))
    rig.driver = KubernetesDriver(replace(least.place, offers=("kueue",)))
    yield Queued(rig, rig.driver)
    rig.driver = administrator
    for queue in rig.api.list(path("ClusterQueue"), labelSelector=f"{CLUSTER}={administrator.place.cluster_id}"):
        rig.api.delete(path("ClusterQueue", name=name_of(queue)))


@pytest.fixture
def topology(rig: KubeRig) -> Iterator[Topology]:
    """Of the simulated nodes, as an administrator tells Kueue."""
    found = Topology(f"racks-{uuid4().hex[:8]}", (RACK, queues.HOST))
    levels = [{"nodeLabel": level} for level in found.levels]
    where = path("Topology", name=found.name)
    manifest: Json = {"apiVersion": KUEUE, "kind": "Topology", "metadata": {"name": found.name}}
    rig.api.apply(where, manifest | {"spec": {"levels": levels}})
    yield found
    for flavor in rig.api.list(path("ResourceFlavor")):
        if text(flavor, "spec", "topologyName") == found.name:
            rig.api.delete(path("ResourceFlavor", name=name_of(flavor)))
    rig.api.delete(where)


class TestQueues:
    def test_follow_our_limits_and_are_mended_where_others_changed_them(self, kept: Queued) -> None:
        organization_id = uuid4()
        assert kept.limit(organization_id, vcpus=8, memory_gib=1024, accelerators__H100=4) == ()
        first = kept.queue(organization_id)

        assert kept.limit(organization_id, vcpus=8, memory_gib=1024, accelerators__H100=4) == ()
        untouched = kept.queue(organization_id)
        kept.change(organization_id, {"cohortName": "everybody", "queueingStrategy": "StrictFIFO"})
        drifted = kept.limit(organization_id, vcpus=8, memory_gib=1024, accelerators__H100=4)
        mended = kept.queue(organization_id)
        raised = kept.limit(organization_id, vcpus=16, memory_gib=1024, accelerators__H100=4)

        assert text(first, "spec", "queueingStrategy") == "BestEffortFIFO"
        assert number(untouched, "metadata", "generation") == number(first, "metadata", "generation")
        assert drifted == (queues.queue_of(organization_id),)
        assert text(mended, "spec", "queueingStrategy") == "BestEffortFIFO"
        assert not text(mended, "spec", "cohortName")
        assert raised == ()
        assert "'16'" in str(kept.queue(organization_id)["spec"])

    def test_a_cluster_with_kueue_says_so_and_its_topology(self, kept: Queued, topology: Topology) -> None:
        seen = capabilities_of(kept.driver.api)

        assert "kueue" in seen.offers
        assert seen.missing_rights == ()
        assert seen.topology == topology


class TestAJob:
    def test_waits_over_the_quota_with_kueues_words_and_runs_when_that_is_raised(self, kept: Queued) -> None:
        spec = kept.rig.job(exit_code=0, workers=2)
        kept.limit(spec.organization_id, vcpus=1)
        kept.present(spec)

        waiting = kept.until(spec, queues.PENDING)
        assert waiting.reason is not None
        assert (waiting.phase, waiting.started_at) == (Phase.STARTING, None)
        assert "insufficient quota for cpu" in waiting.reason.message
        kept.limit(spec.organization_id, vcpus=2)
        over = until(lambda: kept.driver.observe(spec), lambda o: o.phase in SETTLED)

        assert (over.phase, over.exit_code) == (Phase.SUCCEEDED, 0)

    def test_that_is_put_out_of_the_queue_has_ended(self, kept: Queued) -> None:
        spec = kept.rig.job()
        kept.present(spec)
        kept.until(spec, queues.PENDING)
        workload = workload_of(kept.rig.api, kept.job(spec)) or {}
        kept.rig.api.merge(
            path("Workload", namespace_of(spec.project_id), name_of(workload)), {"spec": {"active": False}}
        )

        over = until(lambda: kept.driver.observe(spec), lambda o: o.phase in SETTLED)

        assert over.reason is not None
        assert (over.phase, over.reason.code) == (Phase.STOPPED, "deactivated_in_kueue")

    def test_of_several_workers_is_kept_together_and_one_alone_runs_beside_it(
        self, kept: Queued, topology: Topology
    ) -> None:
        kept.driver = KubernetesDriver(replace(kept.driver.place, topology=topology))
        gang = replace(kept.rig.job(workers=2), accelerator="H100", accelerator_count=1)
        alone = replace(kept.rig.job(), organization_id=gang.organization_id, accelerator="H100", accelerator_count=1)
        kept.limit(gang.organization_id, accelerators__H100=4)
        kept.present(gang)
        kept.present(alone)

        kept.until_ready(gang)
        kept.until_ready(alone)

        workload = workload_of(kept.rig.api, kept.job(gang))
        (podset,) = rows(workload, "status", "admission", "podSetAssignments")
        assert at(podset, "topologyAssignment", "levels") is not None
        assert text(podset, "flavors", "nvidia.com/gpu").endswith(topology.name)
        nodes = {text(pod, "spec", "nodeName") for pod in kept.rig.pods(gang)}
        racks = {text(kept.rig.api.get(path("Node", name=node)), "metadata", "labels", RACK) for node in nodes}
        assert len(racks) == 1
        assert PRODUCT in str(kept.job(alone)["spec"])


class TestARayCluster:
    def test_waits_for_all_its_nodes_at_once_and_ends_when_kueue_takes_it_back(self, kept: Queued) -> None:
        spec = a_spec(kind="cluster", framework="ray", workers=3)
        kept.limit(spec.organization_id, vcpus=2)
        kept.present(spec)

        waiting = kept.until(spec, queues.PENDING)
        assert waiting.reason is not None
        assert (waiting.phase, waiting.started_at, kept.rig.pods(spec)) == (Phase.STARTING, None, [])
        assert "insufficient quota for cpu" in waiting.reason.message
        kept.limit(spec.organization_id, vcpus=3)
        kept.until_ready(spec)
        kept.change(spec.organization_id, {"stopPolicy": "HoldAndDrain"})
        over = until(lambda: kept.driver.observe(spec), lambda o: o.phase in SETTLED)

        assert over.reason is not None
        assert (over.phase, over.reason.code) == (Phase.STOPPED, "preempted_by_kueue")
        assert over.started_at is not None
        assert over.ended_at is not None
        assert kept.rig.held(spec) == []


def was_taken_back(life: Life) -> bool:
    with life.tenant.scope():
        return Event.objects.filter(workload_id=life.workload.pk, details__code="preempted_by_kueue").exists()


@pytest.mark.django_db
def test_a_job_waits_without_a_deadline_and_comes_back_when_kueue_takes_it_back(aurora: Tenant, kept: Queued) -> None:
    life = born(aurora, kept.rig, kind=Kind.JOB, shape="cpu-4", image="jupyterlab", job=JobSpec(("python", "train.py")))
    organization_id = aurora.organization.pk
    waiting = life.until(State.PROVISIONING, reason=queues.PENDING)
    assert f"ClusterQueue {queues.queue_of(organization_id)} doesn't exist" in str(waiting.reason)
    life.leap = timedelta(hours=1)
    life.until(State.PROVISIONING, reason=queues.PENDING)
    life.leap = timedelta(hours=1, minutes=4)

    kept.limit(organization_id)
    until(life.moment_later, lambda row: row.state == State.RUNNING, seconds=90)
    kept.change(organization_id, {"stopPolicy": "HoldAndDrain"})
    again = until(life.moment_later, lambda row: row.state == State.PROVISIONING and was_taken_back(life))
    assert again.failures == 0
    kept.change(organization_id, {"stopPolicy": "None"})
    until(life.moment_later, lambda row: row.state == State.RUNNING, seconds=90)

    first, second = life.compute()
    assert first[1] is not None
    assert first[1] <= second[0]
