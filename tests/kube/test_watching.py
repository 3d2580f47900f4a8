"""What happens to a run on a cluster is told at once, with the shipped rights alone."""

from __future__ import annotations

import queue
import threading
import time
from uuid import uuid4

from provisioning.drivers.base import Hint
from provisioning.drivers.kubernetes import rights
from provisioning.drivers.kubernetes.client import Forbidden
from provisioning.drivers.kubernetes.driver import KubernetesDriver
from provisioning.drivers.kubernetes.names import namespace_of
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.reading import name_of
from provisioning.reconciler.watching import Heard, follow
from tests.drivers.rig import a_spec, until
from tests.kube.rig import KubeRig

SOON_S = 30.0
"""Of a busy machine; the lists that would say it too come each minute."""


def test_a_pod_that_dies_is_told_long_before_the_next_list(rig: KubeRig) -> None:
    driver, heard, stopped = rig.with_rights(rights.WORKSPACES), queue.SimpleQueue[Heard](), threading.Event()
    until(lambda: may(driver), bool)
    for watch in driver.watches():
        threading.Thread(target=follow, args=(watch, uuid4(), heard, stopped), daemon=True).start()
    spec = a_spec()
    try:
        seen = rig.started(spec)
        drain(heard)
        began = time.monotonic()
        rig.api.delete(path("Pod", namespace_of(spec.project_id), name_of(rig.pod(spec))))

        while heard.get(timeout=SOON_S)[1] != Hint(spec.organization_id, spec.workload_id):
            pass

        assert time.monotonic() - began < SOON_S
        assert rig.driver.observe(spec) != seen
    finally:
        stopped.set()
        rig.absent(spec)


def may(driver: KubernetesDriver) -> bool:
    """A right that was just given is not there at once."""
    try:
        return bool(driver.nodes())
    except Forbidden:
        return False


def drain(heard: queue.SimpleQueue[Heard]) -> None:
    """What its start says is over when it has been silent for a moment."""
    while True:
        try:
            heard.get(timeout=0.7)
        except queue.Empty:
            return
