"""Which resource and which nodes a model of accelerator means on a cluster. Pure.

Device plugins offer accelerators as countable resources; what model a node has is said by a label that the vendor's
feature discovery writes. The products are the labels' values as those write them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NVIDIA: Final = ("nvidia.com/gpu", "nvidia.com/gpu.product")
AMD: Final = ("amd.com/gpu", "amd.com/gpu.product-name")


@dataclass(frozen=True, slots=True)
class Accelerator:
    resource: str
    label: str
    products: tuple[str, ...]


_KNOWN: Final[dict[str, tuple[tuple[str, str], tuple[str, ...]]]] = {
    "T4": (NVIDIA, ("Tesla-T4",)),
    "L4": (NVIDIA, ("NVIDIA-L4",)),
    "L40S": (NVIDIA, ("NVIDIA-L40S",)),
    "A10": (NVIDIA, ("NVIDIA-A10", "NVIDIA-A10G")),
    "A100-40GB": (NVIDIA, ("NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-PCIE-40GB")),
    "A100-80GB": (NVIDIA, ("NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-80GB-PCIe")),
    "H100": (NVIDIA, ("NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe", "NVIDIA-H100-NVL")),
    "H200": (NVIDIA, ("NVIDIA-H200", "NVIDIA-H200-NVL")),
    "B200": (NVIDIA, ("NVIDIA-B200",)),
    "GB200": (NVIDIA, ("NVIDIA-GB200",)),
    "MI300X": (AMD, ("AMD_Instinct_MI300X_OAM", "AMD_Instinct_MI300X")),
    "MI325X": (AMD, ("AMD_Instinct_MI325X_OAM", "AMD_Instinct_MI325X")),
}


def models_by_product() -> dict[str, str]:
    """Our name of a model by each product that a label may say."""
    return {product: model for model, (_, products) in _KNOWN.items() for product in products}


def accelerator_of(model: str) -> Accelerator:
    """A model that is not in the table is taken for the product's own name on NVIDIA nodes."""
    (resource, label), products = _KNOWN.get(model, (NVIDIA, (model,)))
    return Accelerator(resource, label, products)
