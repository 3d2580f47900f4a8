"""The claim of a workload's disk. Pure."""

from __future__ import annotations

from typing import Final

from provisioning.drivers.base import RunSpec
from provisioning.drivers.kubernetes.names import claim_of, labels_of_volume, namespace_of
from provisioning.drivers.kubernetes.reading import Json
from provisioning.drivers.places import Place

TIER: Final = "standard"
SHARED: Final = "shared"


def claim(spec: RunSpec, place: Place) -> Json:
    """The volume's claim: an object of its own, which outlives whatever mounts it.

    Several workers may be on several nodes: they need one that all of them can mount, of the tier `shared` where the
    cluster has one.
    """
    classes = dict(place.storage_classes)
    several = spec.workers > 1
    storage_class = classes.get(SHARED if several and SHARED in classes else TIER)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": claim_of(spec.volume_id),
            "namespace": namespace_of(spec.project_id),
            "labels": labels_of_volume(spec, place.cluster_id),
        },
        "spec": {
            "accessModes": ["ReadWriteMany" if several else "ReadWriteOnce"],
            "resources": {"requests": {"storage": f"{spec.disk_gib}Gi"}},
        }
        | ({"storageClassName": storage_class} if storage_class else {}),
    }
