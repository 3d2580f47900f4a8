"""A pod of ours, whatever it runs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from provisioning.drivers.base import RunSpec
from provisioning.drivers.kubernetes import capacity
from provisioning.drivers.kubernetes.accelerators import accelerator_of
from provisioning.drivers.kubernetes.names import ACCOUNT, claim_of
from provisioning.drivers.kubernetes.reading import Json
from provisioning.drivers.kubernetes.servers import HOME

CONTAINER: Final = "server"
GRACE_S: Final = 30
PERSON: Final = 1000
SCRATCH_GIB: Final = 20


def pod(spec: RunSpec, container: Json) -> Json:
    """One pod of the sizes of its shape, closed as far as it goes, on the volume and with room to scratch."""
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
        "containers": [container],
        "volumes": [
            {"name": "home", "persistentVolumeClaim": {"claimName": claim_of(spec.volume_id)}},
            {"name": "scratch", "emptyDir": {"sizeLimit": f"{SCRATCH_GIB}Gi"}},
            {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": f"{spec.memory_gib}Gi"}},
        ],
    }


def _nodes(spec: RunSpec) -> Json:
    """Only nodes of that model, and of spot capacity or of none; the taints, by which others are kept off, are no
    hindrance."""
    wanted = None if spec.accelerator is None else accelerator_of(spec.accelerator)
    models: list[Json] = []
    tolerated: list[Json] = capacity.tolerations() if spec.spot else []
    if wanted is not None:
        models = [{"key": wanted.label, "operator": "In", "values": list(wanted.products)}]
        tolerated = [{"key": wanted.resource, "operator": "Exists", "effect": "NoSchedule"}, *tolerated]
    terms = capacity.terms(spec.spot, models)
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}},
        **({"tolerations": tolerated} if tolerated else {}),
    }


def container(spec: RunSpec, command: Sequence[str], given: Mapping[str, str]) -> Json:
    """`given`: what is set beside the variables of its owner, and wins over them."""
    variables = dict(spec.env) | dict(given)
    return {
        "name": CONTAINER,
        "image": spec.image,
        "imagePullPolicy": "IfNotPresent",
        "command": [literal(word) for word in command],
        "workingDir": HOME,
        "env": [{"name": name, "value": literal(variables[name])} for name in sorted(variables)],
        "resources": _resources(spec),
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


def literal(value: str) -> str:
    """Kubernetes would replace $(NAME) in values and commands; people's are texts."""
    return value.replace("$", "$$")
