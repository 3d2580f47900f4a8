"""Access tokens of people and of service accounts: the hash is kept, the secret is shown once."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from core.models import TenantModel
from core.types import ObjectRef


class AccessToken(TenantModel):
    """A credential of one principal in one organisation. `scopes` empty: all that its owner may.

    `created_by`: who made it for a service account; None where its owner did. `rotated_from`: the one it follows.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=20)
    secret_hash = models.BinaryField(unique=True, max_length=32)
    scopes = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    created_by = models.UUIDField(null=True)
    rotated_from = models.UUIDField(null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["organization", "user", "-id"], name="token_by_user")]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("token", str(self.pk), self.prefix)
