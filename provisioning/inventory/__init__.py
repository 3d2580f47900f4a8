"""What nodes have to give, read off the cluster's own node objects. Pure."""

from provisioning.inventory.devices import Accelerator, Device
from provisioning.inventory.nodes import NodeFacts, facts_of
from provisioning.inventory.quantities import quantity
from provisioning.inventory.totals import Amounts, in_service, out_of_service, whole

__all__ = [
    "Accelerator",
    "Amounts",
    "Device",
    "NodeFacts",
    "facts_of",
    "in_service",
    "out_of_service",
    "quantity",
    "whole",
]
