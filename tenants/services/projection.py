"""Guardian's rows as a projection of memberships: written with them, proven equal by a sweep."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import Permission as PermissionRow
from django.db import transaction

from tenants.models import Membership, Organization, OrganizationGrant, Project, ProjectGrant, Team, TeamGrant
from tenants.roles import on_team, permissions_of


def project_grants(organization: Organization, user_id: UUID, *, project: Project | None, team: Team | None) -> None:
    """Make guardian's rows of this principal and place say what the membership says."""
    wanted = _wanted(organization, user_id, project, team)
    if project is not None:
        rows = _permission_rows("project", wanted)
        ProjectGrant.objects.filter(user_id=user_id, content_object=project).delete()
        ProjectGrant.objects.bulk_create(
            ProjectGrant(organization=organization, content_object=project, user_id=user_id, permission=row)
            for row in rows
        )
    elif team is not None:
        rows = _permission_rows("team", wanted)
        TeamGrant.objects.filter(user_id=user_id, content_object=team).delete()
        TeamGrant.objects.bulk_create(
            TeamGrant(organization=organization, content_object=team, user_id=user_id, permission=row) for row in rows
        )
    else:
        rows = _permission_rows("organization", wanted)
        OrganizationGrant.objects.filter(user_id=user_id, content_object=organization).delete()
        OrganizationGrant.objects.bulk_create(
            OrganizationGrant(organization=organization, content_object=organization, user_id=user_id, permission=row)
            for row in rows
        )


@transaction.atomic
def prove(organization: Organization) -> list[str]:
    """Where guardian's rows differ from the memberships: one line each, before they are mended. Empty when equal."""
    drift = []
    for user_id, project, team in _places_of_grants():
        if _held(user_id, project, team) != _wanted(organization, user_id, project, team):
            place = project or team
            drift.append(f"{user_id} on {place.ref.kind if place else 'organization'} {place.pk if place else ''}")
            project_grants(organization, user_id, project=project, team=team)
    return drift


def _wanted(organization: Organization, user_id: UUID, project: Project | None, team: Team | None) -> set[str]:
    held = Membership.objects.filter(organization=organization, user_id=user_id, project=project, team=team).first()
    if held is None:
        return set()
    return {permission.value for permission in (on_team(held.role) if team else permissions_of(held.role))}


def _held(user_id: UUID, project: Project | None, team: Team | None) -> set[str]:
    if project is not None:
        rows = ProjectGrant.objects.filter(user_id=user_id, content_object=project)
    elif team is not None:
        rows = TeamGrant.objects.filter(user_id=user_id, content_object=team)  # type: ignore[assignment]
    else:
        rows = OrganizationGrant.objects.filter(user_id=user_id)  # type: ignore[assignment]
    return set(rows.values_list("permission__codename", flat=True))


def _places_of_grants() -> set[tuple[UUID, Project | None, Team | None]]:
    """Every principal and place that a membership or a projected row names."""
    projects, teams = Project.objects.in_bulk(), Team.objects.in_bulk()
    found: set[tuple[UUID, Project | None, Team | None]] = {
        (row.user_id, projects.get(row.project_id), teams.get(row.team_id)) for row in Membership.objects.all()
    }
    found |= {(user, None, None) for user in OrganizationGrant.objects.values_list("user_id", flat=True)}
    found |= {
        (user, projects[pk], None) for user, pk in ProjectGrant.objects.values_list("user_id", "content_object_id")
    }
    found |= {(user, None, teams[pk]) for user, pk in TeamGrant.objects.values_list("user_id", "content_object_id")}
    return found


def _permission_rows(model: str, codenames: set[str]) -> list[PermissionRow]:
    return list(
        PermissionRow.objects.filter(
            content_type__app_label="tenants", content_type__model=model, codename__in=codenames
        )
    )
