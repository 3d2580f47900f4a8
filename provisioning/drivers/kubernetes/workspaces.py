"""A workspace on a cluster, as manifests. Pure: the same spec gives the same text."""

from __future__ import annotations

from typing import Final

import yaml

from provisioning.drivers.base import RunSpec
from provisioning.drivers.kubernetes import namespaces
from provisioning.drivers.kubernetes.accelerators import accelerator_of
from provisioning.drivers.kubernetes.names import (
    ACCOUNT,
    INCARNATION,
    SEEN,
    WORKLOAD,
    claim_of,
    labels_of_volume,
    labels_of_workload,
    namespace_of,
    set_of,
)
from provisioning.drivers.kubernetes.namespaces import Ground
from provisioning.drivers.kubernetes.reading import Json, part
from provisioning.drivers.kubernetes.servers import HOME, JUPYTERLAB, Server
from provisioning.drivers.places import Place

TIER: Final = "standard"
CONTAINER: Final = "server"
GRACE_S: Final = 30
START_S: Final = 900
PERSON: Final = 1000
SCRATCH_GIB: Final = 20


def claim(spec: RunSpec, place: Place) -> Json:
    """The volume's claim: an object of its own, which outlives whatever mounts it."""
    storage_class = dict(place.storage_classes).get(TIER)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": claim_of(spec.volume_id),
            "namespace": namespace_of(spec.project_id),
            "labels": labels_of_volume(spec, place.cluster_id),
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": f"{spec.disk_gib}Gi"}},
        }
        | ({"storageClassName": storage_class} if storage_class else {}),
    }


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


def exported(spec: RunSpec, place: Place, ground: Ground) -> str:
    """All of it as YAML that a bare cluster takes: without what needs us to be there."""
    return as_yaml(exported_objects(spec, place, ground))


def exported_objects(spec: RunSpec, place: Place, ground: Ground) -> tuple[Json, ...]:
    """In the order in which they are applied."""
    own = workspace(spec, place, "exported")
    template = part(own, "spec", "template", "metadata")
    template.pop("finalizers")
    ground_things = namespaces.manifests(
        cluster_id=place.cluster_id,
        organization_id=spec.organization_id,
        project_id=spec.project_id,
        ground=ground,
    )
    return (*ground_things, claim(spec, place), own)


def as_yaml(things: tuple[Json, ...]) -> str:
    return yaml.dump_all(things, Dumper=_Plain, sort_keys=False, width=120)


class _Plain(yaml.SafeDumper):
    """Repeats what is the same instead of pointing at it."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _pod(spec: RunSpec, server: Server) -> Json:
    return {
        "serviceAccountName": ACCOUNT,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_S,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": PERSON,
            "runAsGroup": PERSON,
            "fsGroup": PERSON,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **_nodes(spec),
        "containers": [_container(spec, server)],
        "volumes": [
            {"name": "home", "persistentVolumeClaim": {"claimName": claim_of(spec.volume_id)}},
            {"name": "scratch", "emptyDir": {"sizeLimit": f"{SCRATCH_GIB}Gi"}},
            {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": f"{spec.memory_gib}Gi"}},
        ],
    }


def _nodes(spec: RunSpec) -> Json:
    """Only nodes of that model; their taint, by which others are kept off, is no hindrance."""
    if spec.accelerator is None:
        return {}
    wanted = accelerator_of(spec.accelerator)
    term = {"matchExpressions": [{"key": wanted.label, "operator": "In", "values": list(wanted.products)}]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}},
        "tolerations": [{"key": wanted.resource, "operator": "Exists", "effect": "NoSchedule"}],
    }


def _container(spec: RunSpec, server: Server) -> Json:
    given = dict(spec.env) | dict(server.environment)
    probe = {"exec": {"command": list(server.probe)}, "timeoutSeconds": 5}
    return {
        "name": CONTAINER,
        "image": spec.image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(server.command),
        "workingDir": HOME,
        "env": [{"name": name, "value": _literal(given[name])} for name in sorted(given)],
        "resources": _resources(spec),
        "startupProbe": probe | {"periodSeconds": 1, "failureThreshold": START_S},
        "readinessProbe": probe | {"periodSeconds": 10, "failureThreshold": 1},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [
            {"name": "home", "mountPath": HOME},
            {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108
            {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108
        ],
    }


def _resources(spec: RunSpec) -> Json:
    """Asked for and bounded alike: what is billed is what is held."""
    sizes = {"cpu": str(spec.vcpus), "memory": f"{spec.memory_gib}Gi"}
    if spec.accelerator is not None and spec.accelerator_count:
        sizes[accelerator_of(spec.accelerator).resource] = str(spec.accelerator_count)
    return {
        "requests": sizes | {"ephemeral-storage": "1Gi"},
        "limits": sizes | {"ephemeral-storage": f"{SCRATCH_GIB}Gi"},
    }


def _literal(value: str) -> str:
    """Kubernetes would replace $(NAME) in values; people's values are texts."""
    return value.replace("$", "$$")
