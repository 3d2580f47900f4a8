"""Impersonation: one of the platform's people acts for somebody, for a reason and for a while."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from core.models import TenantModel
from core.types import ObjectRef


class Impersonation(TenantModel):
    """From `started_at` until `ended_at`, or `ends_at` where nobody ended it before."""

    operator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.CharField(max_length=300)
    started_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(name="impersonation_ends", condition=Q(ends_at__gt=F("started_at"))),
            models.CheckConstraint(name="impersonation_of_another", condition=~Q(operator=F("person"))),
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("impersonation", str(self.pk))
