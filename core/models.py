"""Base models, and the tables that belong to no business: the audit chain and what surrounds it, idempotency keys."""

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
            models.Index(fields=["organization_id", "object_id"], name="audit_by_object_id"),
            models.Index(fields=["organization_id", "-at"], name="audit_by_time"),
            models.Index(fields=["organization_id", "id"], name="audit_unsealed", condition=models.Q(seq__isnull=True)),
            models.Index(fields=["organization_id", "verb", "-id"], name="audit_by_verb"),
            models.Index(fields=["organization_id", "actor_id", "-id"], name="audit_by_actor"),
            models.Index(fields=["organization_id", "request_id"], name="audit_by_request"),
        ]


class AuditCut(UUIDModel):
    """Where the old end of a chain was cut off, by rule: the last entry that is gone, and our signature under it.

    Written before the entries go; the database removes no entry without it. `removed`: how many this cut took.
    """

    organization_id = models.UUIDField()
    seq = models.BigIntegerField()
    hash = models.BinaryField()
    removed = models.BigIntegerField()
    cut_at = models.DateTimeField()
    key = models.CharField(max_length=64)
    signature = models.CharField(max_length=128)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organization_id", "seq"], name="audit_cut_once")]


class AuditRetention(UUIDModel):
    """How long an organisation keeps its audit entries. No row: for ever."""

    organization_id = models.UUIDField(unique=True)
    keep_days = models.PositiveIntegerField()

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()


class AuditView(UUIDModel):
    """Filters of the audit log under a name: one person's own, or everybody's who may read the log."""

    organization_id = models.UUIDField()
    owner_id = models.UUIDField()
    name = models.CharField(max_length=80)
    query = models.JSONField(default=dict)
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization_id", "owner_id", "name"], name="audit_view_name_once")
        ]


class AuditStream(UUIDModel):
    """A webhook that gets every sealed entry in order. `cursor`: the last entry that it has taken; `sending`: the last
    one of the batch that is on its way, so that a repeated call is the same call.

    `secret` and `former_secret` are encrypted; the former one signs too until `former_until`, so that a receiver can
    change over. `failures`: failed calls in a row, since `failing_since`; `paused_reason`: why it was given up.
    """

    organization_id = models.UUIDField()
    name = models.CharField(max_length=80)
    url = models.CharField(max_length=500)
    secret = models.TextField()
    former_secret = models.TextField(blank=True)
    former_until = models.DateTimeField(null=True)
    enabled = models.BooleanField(default=True)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    cursor = models.BigIntegerField(default=0)
    sending = models.BigIntegerField(null=True)
    due_at = models.DateTimeField()
    lease_until = models.DateTimeField(null=True)
    delivered_at = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=300, blank=True)
    paused_reason = models.CharField(max_length=300, blank=True)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organization_id", "name"], name="audit_stream_name_once")]
        indexes = [models.Index(fields=["due_at"], name="audit_stream_due", condition=models.Q(enabled=True))]


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
