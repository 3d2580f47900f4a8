"""Memberships: the one grant that anyone writes, and its projection into guardian's rows."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import Permission as PermissionRow
from django.db import transaction

from core import audit
from core.types import Actor
from tenants.models import Membership, Organization, OrganizationGrant, Project, ProjectGrant, User
from tenants.roles import permissions_of


@transaction.atomic
def grant(
    *, actor: Actor, organization: Organization, user: User, role: str, project: Project | None, now: datetime
) -> Membership:
    """Give a person a role in the organisation, or in one project of it; a person holds one role per place."""
    membership, _ = Membership.objects.update_or_create(
        organization=organization, user=user, project=project, defaults={"role": role, "created_at": now}
    )
    _project_grants(organization, user.pk, project)
    place = project.ref if project else organization.ref
    audit.record(
        actor, "membership.granted", membership.ref, now=now, after={"role": role, "user": str(user.pk), "on": place.id}
    )
    return membership


@transaction.atomic
def revoke(*, actor: Actor, membership: Membership, now: datetime) -> None:
    """Take a role back. What it opened (sockets, links) ends when its next check finds nothing."""
    organization, project, user_id = membership.organization, membership.project, membership.user_id
    ref, role = membership.ref, membership.role
    membership.delete()
    _project_grants(organization, user_id, project)
    audit.record(actor, "membership.revoked", ref, now=now, before={"role": role, "user": str(user_id)})


def _project_grants(organization: Organization, user_id: UUID, project: Project | None) -> None:
    """Make guardian's rows of this person and place say what the membership says."""
    membership = Membership.objects.filter(organization=organization, user_id=user_id, project=project).first()
    wanted = {permission.value for permission in permissions_of(membership.role)} if membership else set()
    if project is None:
        rows = _permission_rows("organization", wanted)
        OrganizationGrant.objects.filter(user_id=user_id, content_object=organization).delete()
        OrganizationGrant.objects.bulk_create(
            OrganizationGrant(organization=organization, content_object=organization, user_id=user_id, permission=row)
            for row in rows
        )
        return
    rows = _permission_rows("project", wanted)
    ProjectGrant.objects.filter(user_id=user_id, content_object=project).delete()
    ProjectGrant.objects.bulk_create(
        ProjectGrant(organization=organization, content_object=project, user_id=user_id, permission=row) for row in rows
    )


def _permission_rows(model: str, codenames: set[str]) -> list[PermissionRow]:
    return list(
        PermissionRow.objects.filter(
            content_type__app_label="tenants", content_type__model=model, codename__in=codenames
        )
    )
