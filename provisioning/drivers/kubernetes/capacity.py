"""Spot capacity: nodes that may be taken back at any time, by the labels and taints of their providers. Pure."""

from __future__ import annotations

from typing import Final

from provisioning.drivers.kubernetes.names import CAPACITY
from provisioning.drivers.kubernetes.reading import Json, labels_of, text

SPOT: Final = "spot"
LABELS: Final = (
    ("karpenter.sh/capacity-type", "spot"),
    ("eks.amazonaws.com/capacityType", "SPOT"),
    ("cloud.google.com/gke-spot", "true"),
    ("cloud.google.com/gke-preemptible", "true"),
    ("kubernetes.azure.com/scalesetpriority", "spot"),
)
"""Any of them makes a node one of spot capacity."""


def terms(spot: bool, others: list[Json]) -> list[Json]:
    """Of a node affinity: `others`, and a node of spot capacity; or one that is none. Empty where nothing is asked."""
    if spot:
        return [{"matchExpressions": [*others, _has(label, value)]} for label, value in LABELS]
    return [{"matchExpressions": [*others, *(_has_not(label, value) for label, value in LABELS)]}]


def tolerations() -> list[Json]:
    """Providers keep others off spot nodes by a taint that reads like the label."""
    return [{"key": label, "operator": "Equal", "value": value, "effect": "NoSchedule"} for label, value in LABELS]


def is_spot(pod: Json) -> bool:
    return text(labels_of(pod), CAPACITY) == SPOT


def _has(label: str, value: str) -> Json:
    return {"key": label, "operator": "In", "values": [value]}


def _has_not(label: str, value: str) -> Json:
    """True of a node without the label, too."""
    return {"key": label, "operator": "NotIn", "values": [value]}
