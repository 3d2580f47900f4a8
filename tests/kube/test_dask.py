"""Dask clusters against the Dask operator: a scheduler that is the run, workers that come again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from provisioning.drivers.base import Phase, RunSpec
from provisioning.drivers.kubernetes import rights
from provisioning.drivers.kubernetes.dasks import COMPONENT
from provisioning.drivers.kubernetes.driver import KubernetesDriver
from provisioning.drivers.kubernetes.names import namespace_of
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.reading import Json, labels_of, name_of, part, text
from tests.drivers.rig import SETTLED, a_spec, until
from tests.kube.rig import KubeRig

KINDS = ("DaskCluster", "Deployment", "Pod", "Service")


def a_cluster(nodes: int = 3) -> RunSpec:
    return replace(a_spec(kind="cluster", framework="dask", workers=nodes))


def of_type(rig: KubeRig, spec: RunSpec, component: str) -> list[Json]:
    return [pod for pod in rig.pods(spec) if text(labels_of(pod), COMPONENT) == component]


def whole(rig: KubeRig, spec: RunSpec) -> None:
    rig.started(spec)
    until(lambda: rig.driver.observe(spec), lambda o: o.ready and o.reason is None and o.started_at)


@pytest.mark.usefixtures("dask")
class TestDask:
    def test_starts_with_all_its_nodes_under_the_least_rights_and_leaves_nothing(self, rig: KubeRig) -> None:
        spec, administrator = a_cluster(), rig.driver
        rig.driver = KubernetesDriver(rig.with_rights(rights.needed(())).place)

        whole(rig, spec)

        assert (len(of_type(rig, spec, "scheduler")), len(of_type(rig, spec, "worker"))) == (1, 2)
        (head,) = of_type(rig, spec, "scheduler")
        assert text(head, "spec", "serviceAccountName") == "steelyard-workload"
        assert part(head, "spec", "securityContext")["runAsNonRoot"] is True
        assert rig.driver.endpoint_of(spec) is not None
        stopped = rig.stopped(spec)
        assert (stopped.phase, stopped.reason) == (Phase.STOPPED, None)
        assert stopped.started_at is not None
        assert stopped.ended_at is not None
        rig.absent(spec)
        rig.driver, namespace = administrator, namespace_of(spec.project_id)
        left = until(
            lambda: [name_of(thing) for kind in KINDS for thing in rig.api.list(path(kind, namespace))],
            lambda found: not found,
        )
        assert left == []

    def test_a_worker_that_is_gone_comes_again_and_the_run_goes_on(self, rig: KubeRig) -> None:
        spec = a_cluster(2)
        whole(rig, spec)
        run = rig.driver.observe(spec).incarnation
        (worker,) = of_type(rig, spec, "worker")

        rig.api.delete(path("Pod", namespace_of(spec.project_id), name_of(worker)))
        until(lambda: of_type(rig, spec, "worker"), lambda found: found and name_of(found[0]) != name_of(worker))

        whole(rig, spec)
        assert rig.driver.observe(spec).incarnation == run

    def test_the_end_of_the_scheduler_is_the_end_of_the_run(self, rig: KubeRig) -> None:
        spec = a_cluster(2)
        whole(rig, spec)
        (head,) = of_type(rig, spec, "scheduler")

        rig.end_pod(spec, name_of(head), exit_code=137, evicted=True)
        ended = until(lambda: rig.driver.observe(spec), lambda o: o.phase in SETTLED)

        assert ended.phase is Phase.STOPPED
        assert ended.reason is not None
        assert ended.reason.code == "evicted"
        assert rig.held(spec) == []

    def test_what_nobody_knows_of_is_found_and_ended(self, rig: KubeRig) -> None:
        spec = a_cluster(2)
        whole(rig, spec)

        (stray,) = rig.driver.strays([])
        rig.until_ended(stray)

        assert rig.held(spec) == []
