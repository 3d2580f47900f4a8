"""One list of a cluster says of each run whether it is as it was when last looked at, by the shipped rights alone."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from provisioning.drivers.kubernetes import client, rights
from provisioning.drivers.kubernetes.client import Forbidden
from provisioning.drivers.kubernetes.driver import KubernetesDriver
from provisioning.drivers.kubernetes.names import namespace_of
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.reading import name_of
from tests.drivers.rig import a_spec, until
from tests.kube.rig import KubeRig


def test_a_run_that_is_well_has_the_mark_that_lists_say_and_any_change_is_another(rig: KubeRig) -> None:
    driver = rig.with_rights(rights.WORKSPACES)
    until(lambda: may(driver), bool)
    specs = [a_spec(), a_spec(), rig.job(workers=3)]
    for spec in specs:
        assert rig.present(spec).mark == ""
    for spec in specs:
        until(lambda: driver.observe(spec), lambda o: o.mark and o.mark == driver.marks()[spec.workload_id], seconds=60)  # noqa: B023

    with patch.object(client, "PAGE", 1):
        before = driver.marks()
    pod = path("Pod", namespace_of(specs[0].project_id), name_of(rig.pod(specs[0])))
    rig.api.merge(pod, {"metadata": {"annotations": {"seen-by": "somebody"}}})
    rig.api.delete(path("Pod", namespace_of(specs[2].project_id), name_of(rig.pods(specs[2])[1])))
    after = until(driver.marks, lambda found: found[specs[2].workload_id] != before[specs[2].workload_id], seconds=60)

    assert len(before) == 3
    assert after[specs[0].workload_id] != before[specs[0].workload_id]
    assert after[specs[1].workload_id] == before[specs[1].workload_id]
    assert driver.observe(specs[0]).mark == driver.marks()[specs[0].workload_id]
    assert driver.observe(specs[2]).mark == ""


@pytest.mark.usefixtures("kuberay")
def test_a_ray_cluster_has_one_when_all_of_its_nodes_are_up(rig: KubeRig) -> None:
    spec = a_spec(kind="cluster", framework="ray", workers=2)
    rig.started(spec)

    seen = until(
        lambda: rig.driver.observe(spec),
        lambda o: o.mark and o.mark == rig.driver.marks()[spec.workload_id],
        seconds=60,
    )

    assert (seen.ready, seen.reason) == (True, None)


def may(driver: KubernetesDriver) -> bool:
    """A right that was just given is not there at once."""
    try:
        return bool(driver.nodes())
    except Forbidden:
        return False
