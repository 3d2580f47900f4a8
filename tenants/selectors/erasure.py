"""What would be missing without a person; in the platform's scope."""

from __future__ import annotations

from django.db.models import Exists, OuterRef

from tenants.enums import PlatformRole, PrincipalKind, Role, Standing
from tenants.models import Membership, Organization, User


def organizations_left_alone(user: User) -> list[Organization]:
    """Those that would have no owner who can sign in, by name. A closed one needs none: nothing in it changes."""
    others = Membership.objects.filter(
        organization=OuterRef("pk"), role=Role.OWNER, user__is_active=True, user__kind=PrincipalKind.PERSON
    ).exclude(user=user)
    owned = Membership.objects.filter(user=user, role=Role.OWNER).values("organization_id")
    living = Organization.objects.exclude(standing=Standing.CLOSED)
    return list(living.filter(pk__in=owned).exclude(Exists(others)).order_by("name"))


def last_administrator(user: User) -> bool:
    """Whether nobody else administers the platform."""
    able = User.objects.filter(platform_role=PlatformRole.ADMIN, is_active=True)
    return user.platform_role == PlatformRole.ADMIN and not able.exclude(pk=user.pk).exists()
