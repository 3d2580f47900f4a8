"""Base models, and the tables that belong to no business: audit events and idempotency keys."""

from __future__ import annotations

from typing import ClassVar, Generic, Self, TypeVar

from django.conf import settings
from django.db import models

from core import scope
from core.ids import uuid7

M = TypeVar("M", bound=models.Model)


class UUIDModel(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)

    class Meta:
        abstract = True


class ScopedManager(models.Manager[M], Generic[M]):
    """Refuses to begin a query outside a scope, so that a forgotten scope is an error and not an empty page."""

    def get_queryset(self) -> models.QuerySet[M]:
        scope.require()
        return super().get_queryset()


class TenantModel(UUIDModel):
    """A row that belongs to one organisation."""

    organization = models.ForeignKey(
        settings.STEELYARD_TENANT_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False
    )

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        abstract = True


class Outcome(models.TextChoices):
    DONE = "done"
    DENIED = "denied"
    FAILED = "failed"


class AuditEvent(UUIDModel):
    """One act on one object. Insert-only; `seq`, `prev_hash` and `hash` are sealed afterwards, once."""

    organization_id = models.UUIDField()
    act_id = models.UUIDField()
    at = models.DateTimeField()
    actor_kind = models.CharField(max_length=20)
    actor_id = models.UUIDField(null=True)
    actor_part = models.CharField(max_length=60, blank=True)
    on_behalf_of = models.UUIDField(null=True)
    token_id = models.UUIDField(null=True)
    verb = models.CharField(max_length=80)
    object_kind = models.CharField(max_length=40)
    object_id = models.CharField(max_length=200)
    object_label = models.CharField(max_length=200, blank=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices)
    reason = models.JSONField(null=True)
    source_kind = models.CharField(max_length=10)
    source_address = models.CharField(max_length=64, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    seq = models.BigIntegerField(null=True)
    prev_hash = models.BinaryField(null=True)
    hash = models.BinaryField(null=True)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization_id", "act_id"], name="audit_one_event_per_act"),
            models.UniqueConstraint(fields=["organization_id", "seq"], name="audit_seq_once"),
        ]
        indexes = [
            models.Index(fields=["organization_id", "-id"], name="audit_newest_first"),
            models.Index(fields=["organization_id", "object_kind", "object_id"], name="audit_by_object"),
            models.Index(fields=["organization_id", "id"], name="audit_unsealed", condition=models.Q(seq__isnull=True)),
        ]


class IdempotencyKey(UUIDModel):
    """The stored answer of a POST that succeeded, for its actor to ask again within 24 hours."""

    organization_id = models.UUIDField()
    actor_id = models.UUIDField()
    key = models.CharField(max_length=200)
    method = models.CharField(max_length=8)
    path = models.CharField(max_length=500)
    body_hash = models.BinaryField()
    status = models.PositiveSmallIntegerField()
    headers = models.JSONField(default=dict)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField()

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization_id", "actor_id", "key"], name="idempotency_key_once")
        ]
        indexes = [models.Index(fields=["created_at"], name="idempotency_by_age")]
