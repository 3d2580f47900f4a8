"""The way into a workspace: a one-time code, then a cookie of the workspace's own origin. Only hashes are kept."""

from __future__ import annotations

from typing import ClassVar, Self

from django.db import models

from core.models import ScopedManager, TenantModel
from provisioning.enums import Purpose, choices


class _Way(TenantModel):
    """Bound to one person, one workspace and the credential that asked: it ends with any of them."""

    workload = models.ForeignKey("provisioning.Workload", on_delete=models.CASCADE, related_name="+")
    user_id = models.UUIDField()
    session_key = models.CharField(max_length=40, blank=True)
    token_id = models.UUIDField(null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        abstract = True


class EntryCode(_Way):
    """Good for its purpose alone. `path`: where in the workspace the person wanted to go; `tail`: how much of what was
    said before a stream begins with."""

    purpose = models.CharField(
        max_length=10, choices=choices(Purpose), default=Purpose.ENTER, db_default=Purpose.ENTER.value
    )
    tail = models.PositiveIntegerField(default=0, db_default=0)
    code_hash = models.BinaryField(max_length=32, unique=True)
    path = models.CharField(max_length=500, default="/")
    redeemed_at = models.DateTimeField(null=True)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        indexes = [models.Index(fields=["expires_at"], name="entry_code_by_expiry")]


class WorkspaceEntry(_Way):
    cookie_hash = models.BinaryField(max_length=32, unique=True)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        indexes = [models.Index(fields=["expires_at"], name="workspace_entry_by_expiry")]
