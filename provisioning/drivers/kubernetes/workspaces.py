"""A workspace on a cluster, as a manifest. Pure: the same spec gives the same text."""

from __future__ import annotations

from typing import Final

from provisioning.drivers.base import RunSpec
from provisioning.drivers.kubernetes import pods
from provisioning.drivers.kubernetes.names import (
    INCARNATION,
    SEEN,
    WORKLOAD,
    labels_of_workload,
    namespace_of,
    set_of,
)
from provisioning.drivers.kubernetes.reading import Json
from provisioning.drivers.kubernetes.servers import JUPYTERLAB, Server
from provisioning.drivers.places import Place

START_S: Final = 900


def workspace(spec: RunSpec, place: Place, incarnation: str) -> Json:
    """One pod, never two: a set of one. `incarnation` names the run that this set stands for."""
    labels = labels_of_workload(spec, place.cluster_id) | {INCARNATION: incarnation}
    name, namespace = set_of(spec.workload_id), namespace_of(spec.project_id)
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": 1,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "revisionHistoryLimit": 1,
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": {WORKLOAD: str(spec.workload_id)}},
            "template": {"metadata": {"labels": labels, "finalizers": [SEEN]}, "spec": _pod(spec, JUPYTERLAB)},
        },
    }


def _pod(spec: RunSpec, server: Server) -> Json:
    probe = {"exec": {"command": list(server.probe)}, "timeoutSeconds": 5}
    probes = {
        "startupProbe": probe | {"periodSeconds": 1, "failureThreshold": START_S},
        "readinessProbe": probe | {"periodSeconds": 10, "failureThreshold": 1},
    }
    return pods.pod(spec, pods.container(spec, server.command, dict(server.environment)) | probes)
