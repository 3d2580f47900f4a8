"""Who may decide an approval, and which letters about approvals are due."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Q

from tenants.enums import Decider, Permission, PlatformPermission, PlatformRole, PrincipalKind
from tenants.models import Approval, ApprovalDecision, OrganizationGrant, ProjectGrant, TeamGrant, User
from tenants.roles import platform_permissions_of


def deciders_of(approval: Approval) -> list[User]:
    """Everybody who may decide it and has not: people alone, and nobody about their own request."""
    said = ApprovalDecision.objects.filter(approval=approval).values("by")
    people = User.objects.filter(_may_decide(approval), kind=PrincipalKind.PERSON, is_active=True)
    own = {each for each in (approval.asked_by, *approval.behind) if each is not None}
    return list(people.exclude(pk__in=own).exclude(pk__in=said).order_by("pk"))


def letters_to_mail(instant: datetime) -> list[tuple[UUID, UUID]]:
    """(organisation id, letter id) of those that are due. Asked before a tenant is known."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT organization_id, letter_id FROM steelyard_letters_to_mail(%s)", [instant])
        return [(row[0], row[1]) for row in cursor.fetchall()]


def _may_decide(approval: Approval) -> Q:
    if approval.decider == Decider.PLATFORM:
        decide = PlatformPermission.DECIDE_PLATFORM_APPROVAL
        return Q(platform_role__in=[role.value for role in PlatformRole if decide in platform_permissions_of(role)])
    of_right = {"permission__codename": Permission.DECIDE_APPROVAL.value}
    who = Q(pk__in=OrganizationGrant.objects.filter(**of_right).values("user_id"))
    team_id = approval.project.team_id if approval.project else approval.team_id
    if team_id is not None:
        who |= Q(pk__in=TeamGrant.objects.filter(content_object_id=team_id, **of_right).values("user_id"))
    if approval.project_id is not None:
        mine = ProjectGrant.objects.filter(content_object_id=approval.project_id, **of_right)
        who |= Q(pk__in=mine.values("user_id"))
    return who
