"""Tables of provisioning."""

from provisioning.models.catalogue import AcceleratorType, Cluster, Image, Region, Shape
from provisioning.models.clusters import ClusterAccess
from provisioning.models.entries import EntryCode, WorkspaceEntry
from provisioning.models.history import ActivitySample, Allocation, Attempt, ClusterEvent, Condition, Event, Task
from provisioning.models.leaks import Leak
from provisioning.models.nodes import CapacityInterval, Node
from provisioning.models.volumes import Volume
from provisioning.models.workloads import Workload

__all__ = [
    "AcceleratorType",
    "ActivitySample",
    "Allocation",
    "Attempt",
    "CapacityInterval",
    "Cluster",
    "ClusterAccess",
    "ClusterEvent",
    "Condition",
    "EntryCode",
    "Event",
    "Image",
    "Leak",
    "Node",
    "Region",
    "Shape",
    "Task",
    "Volume",
    "Workload",
    "WorkspaceEntry",
]
