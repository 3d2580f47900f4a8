"""What was found that nobody wishes for, or that is billed and not there. Written by the platform, read by it alone."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from core.models import UUIDModel
from provisioning.enums import LeakEnd, LeakKind, choices


class Leak(UUIDModel):
    """`object`: its name on the cluster, or the session's in the books; `told`: what a driver needs to remove it.

    What it costs follows from `sku_code` and `units`, where they are known. A row ends once and is never deleted.
    """

    cluster = models.ForeignKey("provisioning.Cluster", on_delete=models.PROTECT, null=True, related_name="+")
    kind = models.CharField(max_length=8, choices=choices(LeakKind))
    object = models.CharField(max_length=300)
    told = models.JSONField(default=dict)
    why = models.CharField(max_length=200)
    since = models.DateTimeField(null=True)
    sku_code = models.CharField(max_length=80, default="", blank=True)
    units = models.PositiveIntegerField(default=0)
    found_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=8, choices=choices(LeakEnd), default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "object"],
                name="leak_open_once",
                condition=Q(ended_at=None),
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return self.object
