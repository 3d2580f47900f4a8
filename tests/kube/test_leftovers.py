"""Disks of nobody and ends that hang, on a real API server and with the shipped rights alone."""

from __future__ import annotations

from dataclasses import replace

from provisioning.drivers.kubernetes import rights
from provisioning.drivers.kubernetes.client import Forbidden
from provisioning.drivers.kubernetes.driver import KubernetesDriver
from provisioning.drivers.kubernetes.names import claim_of, namespace_of
from provisioning.drivers.kubernetes.objects import path
from tests.drivers.rig import a_spec, until
from tests.kube.rig import KubeRig


def test_a_disk_is_told_and_removed_and_never_the_one_that_came_after_it(rig: KubeRig) -> None:
    spec = a_spec()
    rig.started(spec)
    driver = rig.with_rights(rights.WORKSPACES)
    until(lambda: may(driver), bool)

    (placed,) = driver.placed()
    (disk,) = driver.leftovers()

    assert (placed.workload_id, placed.node.startswith("gpu-")) == (spec.workload_id, True)
    assert (disk.volume_id, disk.size_gib) == (spec.volume_id, spec.disk_gib)
    rig.absent(spec)
    driver.remove_leftover(replace(disk, uid="another"))
    assert driver.leftovers() == (disk,)
    driver.remove_leftover(disk)
    until(driver.leftovers, lambda found: not found)


def test_an_end_that_hangs_on_others_is_told_and_freed(rig: KubeRig) -> None:
    spec = a_spec()
    rig.started(spec)
    where = path("StatefulSet", namespace_of(spec.project_id), f"ws-{spec.workload_id.hex}")
    rig.api.merge(where, {"metadata": {"finalizers": ["example.com/hold"]}})
    until(lambda: rig.driver.ensure_absent(spec), lambda _: not rig.pods(spec))

    hanging = until(lambda: [each for each in rig.driver.leftovers() if each.finalizers], len)

    assert [(each.workload_id, each.finalizers) for each in hanging] == [(spec.workload_id, ("example.com/hold",))]
    rig.driver.remove_leftover(hanging[0])
    rig.absent(spec)
    assert rig.api.get(where) is None
    assert claim_of(spec.volume_id) in {each.name.rpartition("/")[2] for each in rig.driver.leftovers()}


def may(driver: KubernetesDriver) -> bool:
    """A right that was just given is not there at once."""
    try:
        return bool(driver.leftovers())
    except Forbidden:
        return False
