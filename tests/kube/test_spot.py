"""Spot capacity on a real control plane: where it runs, what it waits for, and what an interruption is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from provisioning.drivers.base import Phase
from provisioning.drivers.kubernetes.reading import name_of, text
from tests.drivers.rig import SETTLED, until
from tests.kube.rig import PATIENCE_S, KubeRig


@contextmanager
def spot_node(rig: KubeRig) -> Iterator[str]:
    """One of the lab's nodes is of spot capacity."""
    label = "karpenter.sh/capacity-type"
    fake = [name_of(node) for node in rig.api.list("/api/v1/nodes", labelSelector="type=fake")]
    name = fake[-1]
    rig.api.merge(f"/api/v1/nodes/{name}", {"metadata": {"labels": {label: "spot"}}})
    try:
        yield name
    finally:
        rig.api.merge(f"/api/v1/nodes/{name}", {"metadata": {"labels": {label: None}}})


def test_waits_while_there_is_none_and_then_runs_there_until_it_is_taken_back(rig: KubeRig) -> None:
    spec = replace(rig.job(), spot=True)
    rig.present(spec)
    dry = until(lambda: rig.driver.observe(spec), lambda seen: seen.reason, seconds=PATIENCE_S)
    assert dry.reason is not None
    assert (dry.phase, dry.reason.code) == (Phase.STARTING, "spot_dry")

    with spot_node(rig) as node:
        until(lambda: rig.driver.observe(spec), lambda seen: seen.ready, seconds=PATIENCE_S)
        assert {text(pod, "spec", "nodeName") for pod in rig.pods(spec)} == {node}
        rig.end_pod(spec, name_of(rig.pods(spec)[0]), exit_code=143, evicted=True)
        ended = until(lambda: rig.driver.observe(spec), lambda seen: seen.phase in SETTLED, seconds=PATIENCE_S)

    assert ended.reason is not None
    assert (ended.phase, ended.exit_code, ended.reason.code) == (Phase.STOPPED, None, "spot_interrupted")


def test_what_pays_for_more_never_runs_there(rig: KubeRig) -> None:
    with spot_node(rig) as node:
        rig.nodes = {"kubernetes.io/hostname": node}
        spec = rig.job()
        rig.present(spec)
        seen = until(
            lambda: rig.driver.observe(spec),
            lambda seen: seen.reason is not None and seen.reason.code == "unschedulable",
            seconds=PATIENCE_S,
        )

    assert (seen.phase, seen.started_at) == (Phase.STARTING, None)
