"""One Node object of the Kubernetes API, as plain JSON, read into facts: what it has, where it stands, what ails it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from provisioning.enums import Standing
from provisioning.inventory.devices import Accelerator, Device, devices_of
from provisioning.inventory.quantities import thousandths, whole

_LEVELS: Final[dict[str, tuple[str, ...]]] = {
    "region": ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"),
    "zone": ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
    "block": (
        "cloud.provider.com/topology-block",
        "cloud.google.com/gce-topology-block",
        "topology.k8s.aws/network-node-layer-2",
        "oci.oraclecloud.com/host.network_block_id",
        "network.topology.nvidia.com/spine",
    ),
    "rack": (
        "cloud.provider.com/topology-rack",
        "cloud.google.com/gce-topology-subblock",
        "topology.k8s.aws/network-node-layer-3",
        "oci.oraclecloud.com/host.rack_id",
        "network.topology.nvidia.com/leaf",
    ),
    "host": ("cloud.google.com/gce-topology-host", "kubernetes.io/hostname"),
    "nvlink": (
        "nvidia.com/gpu.clique",
        "topology.k8s.aws/ultraserver-id",
        "accelerator.topograph.run/domain",
        "network.topology.nvidia.com/accelerator",
    ),
}
"""First come, first taken. Kubernetes' well-known labels; Kueue's (topology-aware scheduling); those of Google (GKE,
view the physical topology of nodes), AWS (EC2 instance topology), Oracle; NVIDIA feature discovery and Topograph."""

_INTERCONNECT: Final = (
    "feature.node.kubernetes.io/rdma.available",
    "feature.node.kubernetes.io/rdma.capable",
    "nvidia.com/gpu.imex-domain",
    "cloud.google.com/gke-tpu-topology",
)
"""Node Feature Discovery (kernel modules for RDMA), GPU feature discovery, GKE."""

_HARDWARE: Final = re.compile(r"gpu|nvlink|accelerat|neuron|rocm", re.IGNORECASE)
_FAULTS: Final = frozenset({"GPUMissing", "NVLinkStatusInactive", "NeuronHealth", "UnhealthyNvidiaDevicePlugin"})
_XID: Final = re.compile(r"xid", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """`cpu_millis`, `memory_bytes`: what pods may have of it. `topology`: by level, as far as labels say.

    `reason`: sentences for people why it is not, or not wholly, in service.
    """

    uid: str
    name: str
    cpu_millis: int
    memory_bytes: int
    accelerators: tuple[Accelerator, ...] = ()
    others: tuple[Device, ...] = ()
    topology: tuple[tuple[str, str], ...] = ()
    interconnect: tuple[tuple[str, str], ...] = ()
    standing: Standing = Standing.IN_SERVICE
    reason: str = ""

    @property
    def takes_work(self) -> bool:
        return self.standing in (Standing.IN_SERVICE, Standing.DEGRADED)


def facts_of(node: Mapping[str, object], models: Mapping[str, str]) -> NodeFacts:
    """`models`: our name of an accelerator by the product that a label says. Raises ValueError for no quantity."""
    meta, spec, status = _part(node, "metadata"), _part(node, "spec"), _part(node, "status")
    labels = {key: value for key, value in _part(meta, "labels").items() if isinstance(value, str)}
    capacity, allocatable = _part(status, "capacity"), _part(status, "allocatable")
    found = devices_of(capacity, allocatable, labels, models)
    standing, reason = _standing(spec, _conditions(status), found.accelerators)
    name = str(meta.get("name", ""))
    return NodeFacts(
        uid=str(meta.get("uid", "")),
        name=name,
        cpu_millis=thousandths(allocatable.get("cpu", 0)),
        memory_bytes=whole(allocatable.get("memory", 0)),
        accelerators=found.accelerators,
        others=found.others,
        topology=tuple(_topology({"kubernetes.io/hostname": name} | labels)),
        interconnect=tuple((label, labels[label]) for label in _INTERCONNECT if label in labels),
        standing=standing,
        reason=reason,
    )


def _topology(labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for level, known in _LEVELS.items():
        said = next((labels[label] for label in known if labels.get(label)), "")
        if said:
            yield level, said


def _standing(
    spec: Mapping[str, object], conditions: Mapping[str, Mapping[str, str]], accelerators: tuple[Accelerator, ...]
) -> tuple[Standing, str]:
    """The gravest first; the reason tells all."""
    found = [
        *((Standing.NOT_READY, said) for said in _not_ready(conditions)),
        *((Standing.UNHEALTHY, said) for said in _faults(conditions)),
        *((Standing.CORDONED, "It is cordoned.") for _ in range(spec.get("unschedulable") is True)),
        *((Standing.DEGRADED, said) for said in _unhealthy(accelerators)),
    ]
    return (found[0][0] if found else Standing.IN_SERVICE), " ".join(said for _, said in found)


def _not_ready(conditions: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    ready = conditions.get("Ready", {})
    if ready.get("status") != "True":
        yield f"It is not ready{_why(ready)}."


def _faults(conditions: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """What node agents say of the hardware.

    Node-problem-detector's conditions (also AKS's and Neuron's) are True for a problem; EKS's node monitoring agent and
    others have "…Ready" and "…Healthy", False for one. XIDs, the driver's error codes, stand in the type or reason.
    """
    for kind, row in sorted(conditions.items()):
        good = kind.endswith(("Ready", "Healthy"))
        about = bool(_HARDWARE.search(kind)) if good else kind in _FAULTS or bool(_XID.search(kind + row["reason"]))
        if about and row["status"] == ("False" if good else "True"):
            yield f"{kind} is {row['status']}{_why(row)}."


def _unhealthy(accelerators: tuple[Accelerator, ...]) -> Iterator[str]:
    for one in accelerators:
        if one.healthy < one.count:
            yield f"{one.count - one.healthy} of {one.count} {one.offered_as} are unhealthy."


def _why(row: Mapping[str, str]) -> str:
    words = ": ".join(word for word in (row.get("reason", ""), row.get("message", "").strip().rstrip(".")) if word)
    return f" ({words[:200]})" if words else ""


def _conditions(status: Mapping[str, object]) -> dict[str, dict[str, str]]:
    listed = status.get("conditions")
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    words = ("status", "reason", "message")
    return {str(row.get("type", "")): {word: str(row.get(word) or "") for word in words} for row in rows}


def _part(thing: Mapping[str, object], key: str) -> dict[str, object]:
    found = thing.get(key)
    return found if isinstance(found, dict) else {}
