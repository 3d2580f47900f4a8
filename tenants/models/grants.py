"""Who holds which role. Memberships are written; guardian's rows are their projection."""

from __future__ import annotations

from typing import ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from guardian.models import UserObjectPermissionBase

from core.models import ScopedManager, TenantModel
from core.types import ObjectRef
from tenants.enums import Origin, Role
from tenants.models.organizations import Organization, Project, Team
from tenants.roles import ORGANIZATION_ROLES, PROJECT_ROLES


class Membership(TenantModel):
    """One principal's role in an organisation (`team` and `project` empty), in one of its teams or of its projects."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    team = models.ForeignKey("tenants.Team", on_delete=models.CASCADE, null=True, related_name="memberships")
    project = models.ForeignKey("tenants.Project", on_delete=models.CASCADE, null=True, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role.choices)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.GRANTED)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "user", "team", "project"], name="membership_one_role", nulls_distinct=False
            ),
            models.CheckConstraint(
                name="membership_role_fits_scope",
                condition=Q(team__isnull=True, project__isnull=True, role__in=sorted(ORGANIZATION_ROLES))
                | Q(team__isnull=False, project__isnull=True, role__in=sorted(PROJECT_ROLES))
                | Q(team__isnull=True, project__isnull=False, role__in=sorted(PROJECT_ROLES)),
            ),
        ]
        indexes = [models.Index(fields=["user"], name="membership_by_user")]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("membership", str(self.pk), self.role)

    @property
    def place(self) -> Organization | Team | Project:
        """What the role is held on."""
        return self.project or self.team or self.organization


class OrganizationGrant(UserObjectPermissionBase):
    """Projection: one permission of one person on an organisation and everything below it."""

    organization = models.ForeignKey("tenants.Organization", on_delete=models.CASCADE, related_name="+")
    content_object = models.ForeignKey("tenants.Organization", on_delete=models.CASCADE)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()  # type: ignore[assignment]

    class Meta(UserObjectPermissionBase.Meta):
        indexes = [models.Index(fields=["user", "permission"], name="organization_grant_by_user")]


class TeamGrant(UserObjectPermissionBase):
    """Projection: one permission of one person on a team and on each of its projects."""

    organization = models.ForeignKey("tenants.Organization", on_delete=models.CASCADE, related_name="+")
    content_object = models.ForeignKey("tenants.Team", on_delete=models.CASCADE)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()  # type: ignore[assignment]

    class Meta(UserObjectPermissionBase.Meta):
        indexes = [models.Index(fields=["user", "permission"], name="team_grant_by_user")]


class ProjectGrant(UserObjectPermissionBase):
    """Projection: one permission of one person on a project."""

    organization = models.ForeignKey("tenants.Organization", on_delete=models.CASCADE, related_name="+")
    content_object = models.ForeignKey("tenants.Project", on_delete=models.CASCADE)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()  # type: ignore[assignment]

    class Meta(UserObjectPermissionBase.Meta):
        indexes = [models.Index(fields=["user", "permission"], name="project_grant_by_user")]
