"""Ray clusters against KubeRay: a head that is the run, workers that come and go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from provisioning.drivers.base import Phase, RunSpec
from provisioning.drivers.kubernetes.exporting import exported_objects
from provisioning.drivers.kubernetes.names import name_of_run, namespace_of
from provisioning.drivers.kubernetes.namespaces import Ground
from provisioning.drivers.kubernetes.objects import path, path_of
from provisioning.drivers.kubernetes.reading import Json, labels_of, name_of, part, text
from tests.drivers.rig import SETTLED, a_spec, until
from tests.kube.rig import PATIENCE_S, KubeRig

pytestmark = pytest.mark.usefixtures("kuberay")


def a_cluster(nodes: int = 3, **changes: object) -> RunSpec:
    return replace(a_spec(kind="cluster", framework="ray", workers=nodes), **changes)  # type: ignore[arg-type]


def of_type(rig: KubeRig, spec: RunSpec, kind: str) -> list[Json]:
    return [pod for pod in rig.pods(spec) if text(labels_of(pod), "ray.io/node-type") == kind]


def left(rig: KubeRig, spec: RunSpec) -> list[str]:
    """What of it is in its project's namespace: KubeRay makes services of its own."""
    namespace = namespace_of(spec.project_id)
    return [
        name_of(thing) for kind in ("RayCluster", "Pod", "Service") for thing in rig.api.list(path(kind, namespace))
    ]


def whole(rig: KubeRig, spec: RunSpec) -> None:
    """All its nodes are up, and the platform says so."""
    rig.started(spec)
    until(lambda: rig.driver.observe(spec), lambda o: o.ready and o.reason is None and o.started_at, seconds=PATIENCE_S)


class TestRay:
    def test_starts_with_all_its_nodes_and_leaves_nothing(self, rig: KubeRig) -> None:
        spec = a_cluster()

        whole(rig, spec)

        assert (len(of_type(rig, spec, "head")), len(of_type(rig, spec, "worker"))) == (1, 2)
        (head,) = of_type(rig, spec, "head")
        assert text(head, "spec", "serviceAccountName") == "steelyard-workload"
        assert part(head, "spec", "securityContext")["runAsNonRoot"] is True
        stopped = rig.stopped(spec)
        assert (stopped.phase, stopped.reason) == (Phase.STOPPED, None)
        assert stopped.started_at is not None
        assert stopped.ended_at is not None
        assert rig.held(spec) == []
        rig.absent(spec)
        assert until(lambda: left(rig, spec), lambda found: not found) == []

    def test_its_export_applies_where_kuberay_is(self, rig: KubeRig) -> None:
        spec = a_cluster()
        rig.namespaces.add(namespace_of(spec.project_id))

        for thing in exported_objects(spec, rig.driver.place, Ground()):
            assert name_of(rig.api.apply(path_of(thing), thing)) == name_of(thing)

    def test_the_dashboard_is_reached_on_the_heads_loopback(self, rig: KubeRig) -> None:
        spec = a_cluster(1)

        whole(rig, spec)

        where = path("RayCluster", namespace_of(spec.project_id), name_of_run("ray", spec.workload_id))
        params = part(rig.api.get(where), "spec", "headGroupSpec", "rayStartParams")
        assert (params["dashboard-host"], params["dashboard-port"]) == ("127.0.0.1", "8265")
        assert rig.driver.endpoint_of(spec) is not None

    def test_a_worker_that_ends_is_replaced_and_the_run_goes_on(self, rig: KubeRig) -> None:
        spec = a_cluster(2)
        whole(rig, spec)
        run = rig.driver.observe(spec).incarnation
        (worker,) = of_type(rig, spec, "worker")

        rig.end_pod(spec, name_of(worker), exit_code=1)
        until(
            lambda: of_type(rig, spec, "worker"),
            lambda found: found and name_of(found[0]) != name_of(worker),
            seconds=PATIENCE_S,
        )

        assert rig.driver.observe(spec).phase is Phase.RUNNING
        whole(rig, spec)
        assert rig.driver.observe(spec).incarnation == run

    def test_the_end_of_the_head_is_the_end_of_the_run(self, rig: KubeRig) -> None:
        spec = a_cluster(2)
        whole(rig, spec)
        (head,) = of_type(rig, spec, "head")

        rig.end_pod(spec, name_of(head), exit_code=137, evicted=True)
        ended = until(lambda: rig.driver.observe(spec), lambda o: o.phase in SETTLED, seconds=PATIENCE_S)

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
