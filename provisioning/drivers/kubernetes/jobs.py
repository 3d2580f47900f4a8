"""A job on a cluster, as manifests: one attempt is one Indexed Job, which Kubernetes never repeats by itself. Pure."""

from __future__ import annotations

from typing import Final

from provisioning.drivers.base import RunSpec
from provisioning.drivers.jobs import ALONE, ArrayRun, folders_of, lives_of
from provisioning.drivers.kubernetes import arrays, pods
from provisioning.drivers.kubernetes.arrays import INDEX
from provisioning.drivers.kubernetes.names import (
    INCARNATION,
    JOB,
    SEEN,
    WORKLOAD,
    labels_of_workload,
    name_of_run,
    namespace_of,
)
from provisioning.drivers.kubernetes.reading import Json, rows
from provisioning.drivers.kubernetes.servers import HOME
from provisioning.drivers.places import Place

PORT: Final = 29_500
RANKS: Final = ("RANK", "PET_NODE_RANK")


def job(spec: RunSpec, place: Place, incarnation: str) -> Json:
    """All workers at once, and all over with the first that fails. `incarnation` names the attempt."""
    if spec.array is not None:
        return _array(spec, spec.array, place, incarnation)
    labels = labels_of_workload(spec, place.cluster_id) | {INCARNATION: incarnation}
    name = name_of_run(JOB, spec.workload_id)
    container = pods.container(spec, spec.command, _told(name, spec.workers) | _of_job(spec))
    ranks = [_rank(name) for name in RANKS]
    variables = [*ranks, *(each for each in rows(container, "env") if each["name"] not in RANKS)]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace_of(spec.project_id), "labels": labels},
        "spec": {
            "completions": spec.workers,
            "parallelism": spec.workers,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "template": {
                "metadata": {"labels": labels, "finalizers": [SEEN]},
                "spec": pods.pod(spec, container | {"env": variables}) | {"restartPolicy": "Never", "subdomain": name},
            },
        },
    }


def _array(spec: RunSpec, run: ArrayRun, place: Place, incarnation: str) -> Json:
    """So many tasks at once until all have ended, each tried as often as it may be."""
    labels = labels_of_workload(spec, place.cluster_id) | {INCARNATION: incarnation}
    told = {**ALONE, "HOME": HOME, "PYTHONUNBUFFERED": "1", "STEELYARD_WORKERS": "1", "STEELYARD_TASKS": str(run.count)}
    container = pods.container(spec, arrays.command(run, spec.command), told | _of_job(spec))
    name, marks = name_of_run(JOB, spec.workload_id), arrays.marks(run)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace_of(spec.project_id),
            "labels": labels,
            "annotations": marks,
        },
        "spec": {
            **arrays.rules(run, at_once=spec.workers),
            "template": {
                "metadata": {"labels": labels, "annotations": marks, "finalizers": [SEEN]},
                "spec": pods.pod(spec, container) | {"restartPolicy": "Never"},
            },
        },
    }


def meeting(spec: RunSpec, place: Place) -> Json:
    """The service without an address by which workers find each other's names, before they are ready too."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name_of_run(JOB, spec.workload_id),
            "namespace": namespace_of(spec.project_id),
            "labels": labels_of_workload(spec, place.cluster_id),
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {WORKLOAD: str(spec.workload_id)},
            "ports": [{"name": "rendezvous", "port": PORT, "targetPort": PORT}],
        },
    }


def _told(name: str, workers: int) -> dict[str, str]:
    """The words that torch.distributed (WORLD_SIZE) and torchrun (PET_) read; ranks are each pod's own."""
    first = f"{name}-0.{name}" if workers > 1 else "127.0.0.1"
    return {
        "HOME": HOME,
        "LOCAL_RANK": "0",
        "WORLD_SIZE": str(workers),
        "MASTER_ADDR": first,
        "MASTER_PORT": str(PORT),
        "PET_NNODES": str(workers),
        "PET_MASTER_ADDR": first,
        "PET_MASTER_PORT": str(PORT),
        "PYTHONUNBUFFERED": "1",
        "STEELYARD_WORKERS": str(workers),
    }


def _of_job(spec: RunSpec) -> dict[str, str]:
    return folders_of(HOME) | lives_of(spec)


def _rank(name: str) -> Json:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}}
