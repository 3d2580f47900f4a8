"""Invitations and service accounts: how principals come into an organisation."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from core.models import TenantModel
from core.types import ObjectRef
from tenants.enums import Role
from tenants.models.organizations import Organization, Project, Team
from tenants.roles import ORGANIZATION_ROLES, PROJECT_ROLES


class Invitation(TenantModel):
    """A role offered to an e-mail address, once and for a while. The hash of its secret is kept.

    `mail_secret` holds the secret, encrypted, until the mail with it is sent; the mail is due at `mail_due_at`.
    """

    email = models.EmailField()
    role = models.CharField(max_length=20, choices=Role.choices)
    team = models.ForeignKey("tenants.Team", on_delete=models.CASCADE, null=True, related_name="+")
    project = models.ForeignKey("tenants.Project", on_delete=models.CASCADE, null=True, related_name="+")
    secret_hash = models.BinaryField(unique=True, max_length=32)
    invited_by = models.UUIDField(null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    accepted_by = models.UUIDField(null=True)
    revoked_at = models.DateTimeField(null=True)
    mail_secret = models.TextField(blank=True)
    mail_due_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True)
    mail_error = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["mail_due_at"], name="invitation_mail_due", condition=Q(mail_due_at__isnull=False))
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "email", "team", "project"],
                name="invitation_open_once",
                nulls_distinct=False,
                condition=Q(accepted_at__isnull=True, revoked_at__isnull=True),
            ),
            models.CheckConstraint(
                name="invitation_role_fits_scope",
                condition=Q(team__isnull=True, project__isnull=True, role__in=sorted(ORGANIZATION_ROLES))
                | Q(team__isnull=False, project__isnull=True, role__in=sorted(PROJECT_ROLES))
                | Q(team__isnull=True, project__isnull=False, role__in=sorted(PROJECT_ROLES)),
            ),
            models.CheckConstraint(
                name="invitation_ends_once", condition=Q(accepted_at__isnull=True) | Q(revoked_at__isnull=True)
            ),
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("invitation", str(self.pk), self.role)

    @property
    def place(self) -> Organization | Team | Project:
        """What the role is held on."""
        return self.project or self.team or self.organization


class ServiceAccount(TenantModel):
    """A principal without a person: acts by tokens alone, holds memberships like anybody."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="service_account")
    name = models.CharField(max_length=60)
    description = models.CharField(max_length=200, blank=True)
    created_by = models.UUIDField(null=True)
    created_at = models.DateTimeField()
    disabled_at = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organization", "name"], name="service_account_name_once")]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("service_account", str(self.pk), self.name)
