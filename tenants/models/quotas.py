"""Quotas: what a project may hold at once, and who holds it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from core.models import TenantModel
from core.types import ObjectRef


class Quota(TenantModel):
    """Limit and use of one resource in one project. `used` equals the sum of its holds, always."""

    project = models.ForeignKey("tenants.Project", on_delete=models.CASCADE, related_name="quotas")
    resource = models.CharField(max_length=60)
    limit = models.PositiveBigIntegerField()
    used = models.PositiveBigIntegerField(default=0)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "project", "resource"], name="quota_once"),
            models.CheckConstraint(name="quota_used_not_negative", condition=Q(used__gte=0)),
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("quota", str(self.pk), self.resource)


class QuotaHold(TenantModel):
    """One holder's share of one quota."""

    quota = models.ForeignKey("tenants.Quota", on_delete=models.PROTECT, related_name="holds")
    holder_kind = models.CharField(max_length=20)
    holder_id = models.UUIDField()
    holder_label = models.CharField(max_length=120)
    owner_id = models.UUIDField(null=True)
    amount = models.PositiveBigIntegerField()
    held_from = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["quota", "holder_kind", "holder_id"], name="quota_hold_once"),
            models.CheckConstraint(name="quota_hold_positive", condition=Q(amount__gt=0)),
        ]
        indexes = [models.Index(fields=["organization", "holder_id"], name="quota_hold_by_holder")]
