"""A Dask cluster on a cluster with the Dask operator, as a manifest. Pure.

The first node runs the scheduler and a worker beside it; the end of the scheduler is the end of the run. The operator
makes a deployment of each pod, so a worker that ends begins again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from provisioning.drivers.base import RunSpec
from provisioning.drivers.kubernetes import pods
from provisioning.drivers.kubernetes.names import (
    DASK,
    INCARNATION,
    labels_of_workload,
    name_of_run,
    namespace_of,
)
from provisioning.drivers.kubernetes.reading import Json
from provisioning.drivers.kubernetes.servers import DASHBOARD, HOME, asked
from provisioning.drivers.kubernetes.workspaces import START_S
from provisioning.drivers.places import Place

COMPONENT: Final = "dask.org/component"
SCHEDULER: Final = "scheduler"
PORT: Final = 8786
_SCRATCH: Final = "/tmp/dask"  # noqa: S108
_HEAD: Final = """trap 'kill $scheduler $worker' TERM
dask scheduler --port {port} --dashboard-address 127.0.0.1:{dashboard} & scheduler=$!
dask worker tcp://127.0.0.1:{port} --name head {options} & worker=$!
wait $scheduler; code=$?
kill $worker; wait; exit $code"""
_WORKER: Final = 'exec dask worker "$DASK_SCHEDULER_ADDRESS" --name "$DASK_WORKER_NAME" {options}'
_OPTIONS: Final = f"--nthreads {{threads}} --dashboard-address 127.0.0.1:0 --local-directory {_SCRATCH}"


def cluster(spec: RunSpec, place: Place, incarnation: str) -> Json:
    """Scheduler and workers of one shape. The dashboard listens on the scheduler's loopback alone, as workers' do."""
    labels = labels_of_workload(spec, place.cluster_id) | {INCARNATION: incarnation}
    name = name_of_run(DASK, spec.workload_id)
    options = _OPTIONS.format(threads=spec.vcpus)
    head = _HEAD.format(port=PORT, dashboard=DASHBOARD, options=options)
    return {
        "apiVersion": "kubernetes.dask.org/v1",
        "kind": "DaskCluster",
        "metadata": {"name": name, "namespace": namespace_of(spec.project_id), "labels": labels},
        "spec": {
            "scheduler": {"spec": _pod(spec, ("sh", "-c", head), _probes()), "service": _service(name)},
            "worker": {
                "replicas": spec.workers - 1,
                "spec": _pod(spec, ("sh", "-c", _WORKER.format(options=options)), {}),
            },
        },
    }


def _pod(spec: RunSpec, command: Sequence[str], probes: Json) -> Json:
    return pods.pod(spec, pods.container(spec, command, {"HOME": HOME}) | probes)


def _probes() -> Json:
    probe = {"exec": {"command": list(asked("/health", DASHBOARD))}, "timeoutSeconds": 5}
    return {
        "startupProbe": probe | {"periodSeconds": 1, "failureThreshold": START_S},
        "readinessProbe": probe | {"periodSeconds": 10, "failureThreshold": 1},
    }


def _service(name: str) -> Json:
    """By which workers find the scheduler. The operator wants a port for the dashboard, where nobody listens: it then
    takes the newest workers first where it scales down."""
    ports = {"tcp-comm": PORT, "http-dashboard": DASHBOARD}
    return {
        "type": "ClusterIP",
        "selector": {"dask.org/cluster-name": name, COMPONENT: SCHEDULER},
        "ports": [{"name": each, "protocol": "TCP", "port": at, "targetPort": at} for each, at in ports.items()],
    }
