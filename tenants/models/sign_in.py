"""How an organisation's people sign in: its identity provider, the domains that it has proven, who is who there."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from core.models import TenantModel
from core.types import ObjectRef
from tenants.enums import Role
from tenants.roles import ORGANIZATION_ROLES, PROJECT_ROLES


class IdentityProvider(TenantModel):
    """An OpenID Connect provider of one organisation. `client_secret` is encrypted; empty for a public client."""

    name = models.CharField(max_length=80)
    issuer = models.CharField(max_length=300)
    client_id = models.CharField(max_length=200)
    client_secret = models.TextField(blank=True)
    group_claim = models.CharField(max_length=80, default="groups")
    enabled = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organization"], name="identity_provider_one")]

    def __str__(self) -> str:
        return self.name

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("identity_provider", str(self.pk), self.name)


class GroupMapping(TenantModel):
    """A role for whoever is in a group of the provider; an empty group means everybody who signs in by it.

    Never the role of an owner: owners are named by owners.
    """

    provider = models.ForeignKey("tenants.IdentityProvider", on_delete=models.CASCADE, related_name="mappings")
    group = models.CharField(max_length=200, blank=True)
    role = models.CharField(max_length=20, choices=Role.choices)
    team = models.ForeignKey("tenants.Team", on_delete=models.CASCADE, null=True, related_name="+")
    project = models.ForeignKey("tenants.Project", on_delete=models.CASCADE, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "group", "team", "project"], name="group_mapping_one_role", nulls_distinct=False
            ),
            models.CheckConstraint(
                name="group_mapping_role_fits_scope",
                condition=Q(team__isnull=True, project__isnull=True, role__in=sorted(ORGANIZATION_ROLES - {Role.OWNER}))
                | Q(team__isnull=False, project__isnull=True, role__in=sorted(PROJECT_ROLES))
                | Q(team__isnull=True, project__isnull=False, role__in=sorted(PROJECT_ROLES)),
            ),
        ]


class EmailDomain(TenantModel):
    """A domain whose addresses the organisation's provider may speak for, once a DNS record has proven it.

    One organisation alone holds the proof of a domain. `failing_since`: the record is gone since then.
    """

    domain = models.CharField(max_length=253)
    challenge = models.CharField(max_length=60)
    created_at = models.DateTimeField()
    proven_at = models.DateTimeField(null=True)
    checked_at = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "domain"], name="email_domain_once"),
            models.UniqueConstraint(
                fields=["domain"], name="email_domain_proven_once", condition=Q(proven_at__isnull=False)
            ),
        ]
        indexes = [models.Index(fields=["checked_at"], name="email_domain_by_check")]

    def __str__(self) -> str:
        return self.domain

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("email_domain", str(self.pk), self.domain)


class ExternalIdentity(TenantModel):
    """Whom a provider's subject stands for: made just in time, or linked by the person's own consent."""

    provider = models.ForeignKey("tenants.IdentityProvider", on_delete=models.CASCADE, related_name="identities")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    issuer = models.CharField(max_length=300)
    subject = models.CharField(max_length=255)
    linked_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "issuer", "subject"], name="external_identity_once"),
            models.UniqueConstraint(fields=["organization", "issuer", "user"], name="external_identity_one_each"),
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("external_identity", str(self.pk))
