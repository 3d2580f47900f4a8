"""What clusters have to give: their nodes, and since when how much of what was in service. Written by the platform."""

from __future__ import annotations

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeOperators
from django.db import models
from django.db.models import Q

from core.models import UUIDModel
from provisioning.enums import Standing, choices


class Node(UUIDModel):
    """A node as the last list told it. `uid` is the cluster's own: a node that is made anew is another one.

    `allocatable`: cpu_millis, memory_bytes, accelerators and other devices. `topology`: by level, and the interconnect.
    `occupied`: our workloads on it as the last list told them, `[{"workload": id, "devices": {resource: n}}]`.
    `gone_at`: since when lists have been without it; its row stays.
    """

    cluster = models.ForeignKey("provisioning.Cluster", on_delete=models.PROTECT, related_name="nodes", db_index=False)
    uid = models.CharField(max_length=64)
    name = models.CharField(max_length=253)
    allocatable = models.JSONField()
    topology = models.JSONField(default=dict)
    occupied = models.JSONField(default=list)
    standing = models.CharField(max_length=12, choices=choices(Standing))
    reason = models.TextField(default="", blank=True)
    seen_at = models.DateTimeField()
    gone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "uid"], name="node_once_per_cluster")]

    def __str__(self) -> str:
        return self.name


class CapacityInterval(UUIDModel):
    """So many accelerators of a node were in service over [from, to).

    A row changes once, open → closed, and is never deleted (a trigger sees to it); another number is another row.
    """

    cluster = models.ForeignKey("provisioning.Cluster", on_delete=models.PROTECT, related_name="+", db_index=False)
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="intervals", db_index=False)
    accelerator_model = models.CharField(max_length=80)
    sharing = models.CharField(max_length=40)
    count = models.PositiveIntegerField()
    during = DateTimeRangeField()

    class Meta:
        constraints = [
            models.CheckConstraint(name="capacity_interval_of_something", condition=Q(count__gt=0)),
            models.CheckConstraint(
                name="capacity_interval_half_open",
                condition=Q(during__isempty=False, during__lower_inc=True, during__upper_inc=False)
                & Q(during__lower_inf=False),
            ),
            ExclusionConstraint(
                name="capacity_interval_no_overlap",
                expressions=[
                    ("node", RangeOperators.EQUAL),
                    ("accelerator_model", RangeOperators.EQUAL),
                    ("sharing", RangeOperators.EQUAL),
                    ("during", RangeOperators.OVERLAPS),
                ],
            ),
        ]
        indexes = [
            models.Index(fields=["cluster"], name="capacity_interval_open", condition=Q(during__upper_inf=True)),
        ]

    def __str__(self) -> str:
        return f"{self.count} {self.accelerator_model}"
