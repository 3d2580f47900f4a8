"""A Ray cluster on a cluster with KubeRay, as a manifest. Pure.

The first node is the head, which works too. KubeRay replaces workers that end; the end of a head is the end of the
run, since what it knew is lost.
"""

from __future__ import annotations

from typing import Final

from provisioning.drivers.base import RunSpec
from provisioning.drivers.kubernetes import pods
from provisioning.drivers.kubernetes.names import (
    INCARNATION,
    RAY,
    SEEN,
    labels_of_workload,
    name_of_run,
    namespace_of,
)
from provisioning.drivers.kubernetes.reading import Json
from provisioning.drivers.kubernetes.servers import DASHBOARD, HOME
from provisioning.drivers.places import Place

NODE_TYPE: Final = "ray.io/node-type"
HEAD: Final = "head"
LOOPBACK: Final = "127.0.0.1"


def cluster(spec: RunSpec, place: Place, incarnation: str) -> Json:
    """Head and workers of one shape. The dashboard listens on the head's loopback alone: the proxy is the way to it."""
    labels = labels_of_workload(spec, place.cluster_id) | {INCARNATION: incarnation}
    workers = spec.workers - 1
    group = {
        "groupName": "workers",
        "replicas": workers,
        "minReplicas": workers,
        "maxReplicas": workers,
        "rayStartParams": {},
        "template": {"metadata": {"labels": labels}, "spec": _pod(spec)},
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": name_of_run(RAY, spec.workload_id),
            "namespace": namespace_of(spec.project_id),
            "labels": labels,
        },
        "spec": {
            "headGroupSpec": {
                "rayStartParams": {"dashboard-host": LOOPBACK, "dashboard-port": str(DASHBOARD)},
                "template": {"metadata": {"labels": labels, "finalizers": [SEEN]}, "spec": _pod(spec)},
            },
            "workerGroupSpecs": [group] if workers else [],
        },
    }


def _pod(spec: RunSpec) -> Json:
    """KubeRay gives it its command and its probes. Several may mount the disk: it is shared."""
    container = pods.container(spec, (), {"HOME": HOME})
    container.pop("command")
    return pods.pod(spec, container)
