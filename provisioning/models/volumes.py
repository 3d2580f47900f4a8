"""Volumes: the files of workspaces. They outlive stops, and deletion by seven days."""

from __future__ import annotations

from typing import ClassVar, Self

from django.db import models
from django.db.models import Q

from core.models import ScopedManager, TenantModel
from core.types import ObjectRef
from provisioning.enums import VolumeState, choices
from provisioning.types import volume_ref


class Volume(TenantModel):
    project = models.ForeignKey("tenants.Project", on_delete=models.PROTECT, related_name="volumes", db_index=False)
    owner_id = models.UUIDField()
    name = models.CharField(max_length=60)
    size_gib = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=choices(VolumeState), default=VolumeState.NEW)
    cluster = models.ForeignKey("provisioning.Cluster", on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)
    purge_after = models.DateTimeField(null=True)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="volume_size_positive", condition=Q(size_gib__gt=0)),
            models.CheckConstraint(
                name="volume_kept_until",
                condition=~Q(state=VolumeState.KEPT.value) | Q(purge_after__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["organization", "-id"], name="volume_newest_first"),
            models.Index(fields=["purge_after"], name="volume_to_purge", condition=Q(state=VolumeState.KEPT.value)),
        ]

    @property
    def ref(self) -> ObjectRef:
        return volume_ref(self.pk, self.name)
