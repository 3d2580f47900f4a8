"""Which of a node's resources are accelerators, of what model, and how they are cut.

A device plugin offers its devices as countable resources: the capacity counts all, the allocatable the healthy ones
(kubernetes.io, "Device Plugins"). Names and labels are those that the vendors' own plugins write:

NVIDIA  github.com/NVIDIA/k8s-device-plugin, README.md (Shared Access to GPUs) and docs/gpu-feature-discovery/README.md.
        Memory labels are in MiB, and those of MIG devices are per device.
AMD     instinct.docs.amd.com, k8s-device-plugin, Configuration (naming strategies) and the node labeller. VRAM: "192G",
        which it counts in 1024s.
Google  cloud.google.com/kubernetes-engine, TPUs in GKE and GPU sharing: google.com/tpu, gke-accelerator, gke-gpu-….
AWS     awsdocs-neuron, Neuron device plugin: neuron (whole devices) and neuroncore are the same silicon counted twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from provisioning.inventory.quantities import whole

WHOLE: Final = "whole"
_NVIDIA: Final = re.compile(r"nvidia\.com/(?:(gpu)|mig-([0-9]+g\.[0-9]+gb(?:\.me)?))(\.shared)?", re.IGNORECASE)
_AMD: Final = re.compile(r"amd\.com/(?:gpu|((?:s|d|t|q|c)px_nps[0-9]+))")
_NEURON: Final = ("aws.amazon.com/neuron", "aws.amazon.com/neurondevice", "aws.amazon.com/neuroncore")
_NEURON_MODELS: Final = {
    "inf1": "Inferentia",
    "inf2": "Inferentia2",
    "trn1": "Trainium",
    "trn1n": "Trainium",
    "trn2": "Trainium2",
    "trn2u": "Trainium2",
    "trn3": "Trainium3",
}


@dataclass(frozen=True, slots=True)
class Device:
    """A countable resource of a node: how many there are, how many of them are healthy."""

    resource: str
    count: int
    healthy: int


@dataclass(frozen=True, slots=True)
class Accelerator:
    """`sharing`: whole, or what one of them is a part of (mig-1g.10gb, time-slicing, mps, cpx_nps4, core).

    `memory_mib`: of one device as it is handed out, a time slice seeing all of it; None where no label says.
    """

    model: str
    sharing: str
    resource: str
    count: int
    healthy: int
    memory_mib: int | None = None

    @property
    def offered_as(self) -> str:
        """The model by which it is sold: a part is never taken for a whole."""
        return self.model if self.sharing == WHOLE else f"{self.model}-{self.sharing}"


@dataclass(frozen=True, slots=True)
class Found:
    """What a node has: accelerators we know, and every other device resource by its own name."""

    accelerators: tuple[Accelerator, ...]
    others: tuple[Device, ...]


def devices_of(
    capacity: Mapping[str, object],
    allocatable: Mapping[str, object],
    labels: Mapping[str, str],
    models: Mapping[str, str],
) -> Found:
    """`models`: our name by the product that a label says; a product without one keeps its own."""
    devices = {device.resource: device for device in _devices(capacity, allocatable)}
    known = {resource: _known(device, labels, models, devices) for resource, device in devices.items()}
    return Found(
        tuple(accelerator for accelerator in known.values() if accelerator is not None),
        tuple(devices[resource] for resource, accelerator in known.items() if accelerator is None),
    )


def _devices(capacity: Mapping[str, object], allocatable: Mapping[str, object]) -> Iterator[Device]:
    """Resources with a domain in their name. The API server allows whole numbers of them only."""
    for resource in sorted({*capacity, *allocatable}):
        there = whole(capacity.get(resource, allocatable.get(resource)))
        if "/" in resource and there > 0:
            yield Device(resource, there, min(there, max(whole(allocatable.get(resource, 0)), 0)))


def _known(
    device: Device, labels: Mapping[str, str], models: Mapping[str, str], devices: Mapping[str, Device]
) -> Accelerator | None:
    if found := _NVIDIA.fullmatch(device.resource):
        return _nvidia(device, labels, models, mig=found[2] or "", renamed=bool(found[3]))
    if found := _AMD.fullmatch(device.resource):
        return _amd(device, labels, models, found[1] or "")
    if device.resource == "google.com/tpu":
        return _accelerator(device, labels.get("cloud.google.com/gke-tpu-accelerator") or "TPU", WHOLE, models)
    if device.resource == next((name for name in _NEURON if name in devices), None):
        family = labels.get("node.kubernetes.io/instance-type", "").split(".")[0]
        sharing = "core" if device.resource.endswith("core") else WHOLE
        return _accelerator(device, _NEURON_MODELS.get(family, "Neuron"), sharing, models)
    return None


def _nvidia(
    device: Device, labels: Mapping[str, str], models: Mapping[str, str], *, mig: str, renamed: bool
) -> Accelerator:
    """A part by the resource's own name, or by the product's (MIG strategy "single"), or by Google's labels."""
    product = labels.get("nvidia.com/gpu.product") or labels.get("cloud.google.com/gke-accelerator") or "NVIDIA-GPU"
    unshared = product.removesuffix("-SHARED")
    base, _, labelled = unshared.partition("-MIG-")
    size = (mig or labelled or labels.get("cloud.google.com/gke-gpu-partition-size", "")).lower()
    way = _way_of_sharing(labels, certain=renamed or unshared != product)
    sharing = "-".join(word for word in (f"mig-{size}" if size else "", way) if word) or WHOLE
    memory = labels.get(f"nvidia.com/mig-{mig}.memory" if mig else "nvidia.com/gpu.memory", "")
    return _accelerator(device, base, sharing, models, int(memory) if memory.isdecimal() else None)


def _way_of_sharing(labels: Mapping[str, str], *, certain: bool) -> str:
    """Empty where each device has one user. `certain`: a name says that they are shared, if not how."""
    said = labels.get("nvidia.com/gpu.sharing-strategy") or labels.get("cloud.google.com/gke-gpu-sharing-strategy", "")
    if said in ("", "none"):
        return "shared" if certain else ""
    return "time-slicing" if said == "time-sharing" else said


def _amd(device: Device, labels: Mapping[str, str], models: Mapping[str, str], partition: str) -> Accelerator:
    """With one name for all, a label says how they are cut; "spx" is not cut at all."""
    cut = labels.get("amd.com/compute-memory-partition", "").lower()
    sharing = partition or (cut if cut and not cut.startswith("spx") else WHOLE)
    product = labels.get("amd.com/gpu.product-name") or labels.get("beta.amd.com/gpu.product-name") or "AMD-GPU"
    vram = (labels.get("amd.com/gpu.vram") or labels.get("beta.amd.com/gpu.vram", "")).removesuffix("G")
    return _accelerator(device, product, sharing, models, int(vram) * 1024 if vram.isdecimal() else None)


def _accelerator(
    device: Device, product: str, sharing: str, models: Mapping[str, str], memory_mib: int | None = None
) -> Accelerator:
    return Accelerator(
        model=models.get(product, product),
        sharing=sharing,
        resource=device.resource,
        count=device.count,
        healthy=device.healthy,
        memory_mib=memory_mib,
    )
