"""What our objects are called on a cluster, and the labels they carry. The same for everybody who asks, by id alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from provisioning.drivers.base import RunSpec

DOMAIN: Final = "steelyard.dev"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MANAGED: Final = {MANAGED_BY: "steelyard"}
CLUSTER: Final = f"{DOMAIN}/cluster"
ORGANIZATION: Final = f"{DOMAIN}/organization"
PROJECT: Final = f"{DOMAIN}/project"
WORKLOAD: Final = f"{DOMAIN}/workload"
VOLUME: Final = f"{DOMAIN}/volume"
KIND: Final = f"{DOMAIN}/kind"
INCARNATION: Final = f"{DOMAIN}/incarnation"
CAPACITY: Final = f"{DOMAIN}/capacity"
"""Of a pod that may run on capacity that can be taken away: `spot`."""
GROUND: Final = f"{DOMAIN}/ground"
RECORD: Final = f"run.{DOMAIN}/"
SEEN: Final = f"{DOMAIN}/seen"
"""Finalizer of our pods: none leaves before its end was seen, so that what it held is known to the second."""

ACCOUNT: Final = "steelyard-workload"


def namespace_of(project_id: UUID) -> str:
    return f"sy-{project_id.hex}"


@dataclass(frozen=True, slots=True)
class Owner:
    """The kind of object that stands for one run of a kind of workload, and how its names begin."""

    kind: str
    prefix: str


WORKSPACE: Final = "workspace"
JOB: Final = "job"
RAY: Final = "ray"
DASK: Final = "dask"
OWNERS: Final = {
    WORKSPACE: Owner("StatefulSet", "ws"),
    JOB: Owner("Job", "job"),
    RAY: Owner("RayCluster", "ray"),
    DASK: Owner("DaskCluster", "dask"),
}
"""By the form of a workload: its kind, of a cluster its framework."""


MAKERS: Final = tuple(owner.kind for owner in OWNERS.values())


def owner_of(form: str) -> Owner:
    """Objects of an earlier version say nothing of their form: they are workspaces."""
    return OWNERS.get(form, OWNERS[WORKSPACE])


def name_of_run(form: str, workload_id: UUID) -> str:
    return f"{owner_of(form).prefix}-{workload_id.hex}"


def set_of(workload_id: UUID) -> str:
    return name_of_run(WORKSPACE, workload_id)


def pod_of(workload_id: UUID) -> str:
    return f"{set_of(workload_id)}-0"


def claim_of(volume_id: UUID) -> str:
    return f"vol-{volume_id.hex}"


def record_of(workload_id: UUID) -> str:
    """The annotation of the volume's claim that says what became of the workload."""
    return f"{RECORD}{workload_id.hex}"


def place_labels(cluster_id: UUID | None, organization_id: UUID, project_id: UUID) -> dict[str, str]:
    """`cluster` is our own id of it: two installations that share a cluster never take each other's for strays."""
    return MANAGED | {
        CLUSTER: str(cluster_id or ""),
        ORGANIZATION: str(organization_id),
        PROJECT: str(project_id),
    }


def labels_of_volume(spec: RunSpec, cluster_id: UUID | None) -> dict[str, str]:
    return place_labels(cluster_id, spec.organization_id, spec.project_id) | {VOLUME: str(spec.volume_id)}


def labels_of_workload(spec: RunSpec, cluster_id: UUID | None) -> dict[str, str]:
    own = labels_of_volume(spec, cluster_id) | {WORKLOAD: str(spec.workload_id)} | labels_of_form(form_of(spec))
    return own | ({CAPACITY: "spot"} if spec.spot else {})


def labels_of_form(form: str) -> dict[str, str]:
    """Nothing for a workspace, whose objects have never said it."""
    return {} if form == WORKSPACE else {KIND: form}


def form_of(spec: RunSpec) -> str:
    return spec.framework or spec.kind
