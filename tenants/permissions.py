"""The one door: who may do what on which object. Unknown means no."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias
from uuid import UUID

from django.db import connection
from django.db.models import Q

from core import scope
from core.errors import Forbidden, NotFound
from core.types import PLATFORM_ORGANIZATION_ID, Actor, ObjectRef
from tenants.enums import Permission, PlatformPermission
from tenants.models import Organization, OrganizationGrant, Project, ProjectGrant, Team, TeamGrant
from tenants.roles import platform_permissions_of

Place: TypeAlias = Organization | Team | Project
"""What roles are held on; everything else inherits."""

_VIEW: dict[type[Place], Permission] = {
    Organization: Permission.VIEW_ORGANIZATION,
    Team: Permission.VIEW_TEAM,
    Project: Permission.VIEW_PROJECT,
}


def authorize(actor: Actor, permission: Permission, target: Place) -> None:
    """Raise unless the actor holds the permission on the target or above it.

    NotFound for a stranger to the object, Forbidden (naming the permission) for one who may see it. Everybody knows
    of the organisation in which they act.
    """
    held = permissions_on(actor, target)
    if permission in held:
        return
    at_home = isinstance(target, Organization) and target.pk == actor.organization_id
    if _VIEW[type(target)] not in held and not at_home:
        raise NotFound(target.ref.kind, target.pk)
    raise Forbidden(permission, target.ref)


def permissions_on(actor: Actor, target: Place) -> frozenset[Permission]:
    """All that the actor may do on the target, by grants on it and on what stands above, within its token's scopes."""
    organization_id = target.pk if isinstance(target, Organization) else target.organization_id
    if actor.organization_id != organization_id:
        return frozenset()
    if actor.is_system:
        return frozenset(Permission)
    if actor.id is None:
        return frozenset()
    project_id = target.pk if isinstance(target, Project) else None
    team_id = target.team_id if isinstance(target, Project) else target.pk if isinstance(target, Team) else None
    return _within_scopes(actor, _held_by(actor.id, project_id=project_id, team_id=team_id))


def permissions_by_project(actor: Actor, project_ids: Collection[UUID]) -> dict[UUID, frozenset[Permission]]:
    """The same for many projects of the actor's organisation at once, in three queries."""
    if actor.id is None:
        return dict.fromkeys(project_ids, frozenset())
    everywhere = _held_by(actor.id)
    there: dict[UUID, set[Permission]] = {project_id: set(everywhere) for project_id in project_ids}
    by_team = TeamGrant.objects.filter(user_id=actor.id, content_object__projects__in=project_ids)
    rows = [
        *ProjectGrant.objects.filter(user_id=actor.id, content_object_id__in=project_ids).values_list(
            "content_object_id", "permission__codename"
        ),
        *by_team.values_list("content_object__projects", "permission__codename"),
    ]
    for project_id, codename in rows:
        if codename in Permission.values and project_id in there:
            there[project_id].add(Permission(codename))
    return {project_id: _within_scopes(actor, frozenset(held)) for project_id, held in there.items()}


CONSOLE = ObjectRef("platform", "console")


def authorize_platform(actor: Actor, permission: PlatformPermission, asked: ObjectRef = CONSOLE) -> None:
    """Raise unless the actor's platform role grants it. Nobody else learns that there is a console: NotFound.

    A token with scopes never reaches across organisations, and nobody does while acting for somebody else.
    """
    if actor.is_system or permission in platform_permissions_on(actor):
        return
    if not actor.platform_role:
        raise NotFound(asked.kind, asked.id)
    raise Forbidden(permission, ObjectRef("platform", str(PLATFORM_ORGANIZATION_ID)), ask="a platform administrator")


def platform_permissions_on(actor: Actor) -> frozenset[PlatformPermission]:
    if actor.scopes is not None or actor.operator_id is not None:
        return frozenset()
    return platform_permissions_of(actor.platform_role)


def holds(actor: Actor, permission: Permission, target: Place) -> bool:
    return permission in permissions_on(actor, target)


def _held_by(user_id: UUID, *, project_id: UUID | None = None, team_id: UUID | None = None) -> frozenset[Permission]:
    codenames = OrganizationGrant.objects.filter(user_id=user_id).values_list("permission__codename", flat=True)
    if team_id is not None:
        codenames = codenames.union(
            TeamGrant.objects.filter(user_id=user_id, content_object_id=team_id).values_list(
                "permission__codename", flat=True
            )
        )
    if project_id is not None:
        codenames = codenames.union(
            ProjectGrant.objects.filter(user_id=user_id, content_object_id=project_id).values_list(
                "permission__codename", flat=True
            )
        )
    return frozenset(Permission(codename) for codename in codenames if codename in Permission.values)


def _within_scopes(actor: Actor, held: frozenset[Permission]) -> frozenset[Permission]:
    if actor.scopes is None:
        return held
    return frozenset(permission for permission in held if permission.value in actor.scopes)


def projects_filter(actor: Actor, permission: Permission, *, prefix: str = "") -> Q:
    """The condition that a row's project is one where the actor holds the permission.

    `prefix` leads from the row to its project's id column ("project_id" for a workload; empty for Project itself).
    """
    column = prefix or "pk"
    if actor.is_system:
        return Q()
    if actor.id is None or (actor.scopes is not None and permission.value not in actor.scopes):
        return Q(pk__in=[])
    places = _places_with(actor.id, permission)
    return Q() if None in places else Q(**{f"{column}__in": places})


def teams_filter(actor: Actor, permission: Permission) -> Q:
    """The condition on a team that the actor holds the permission on it or on the organisation."""
    if actor.is_system:
        return Q()
    if actor.id is None or (actor.scopes is not None and permission.value not in actor.scopes):
        return Q(pk__in=[])
    mine = {"user_id": actor.id, "permission__codename": permission.value}
    if OrganizationGrant.objects.filter(**mine).exists():
        return Q()
    return Q(pk__in=TeamGrant.objects.filter(**mine).values("content_object_id"))


def _places_with(user_id: UUID, permission: Permission) -> list[UUID | None]:
    """The projects where a person holds the permission; None stands for the whole organisation.

    Every list asks this, so it is one plain query; and PostgreSQL plans a list by known ids better than by a subquery.
    """
    scope.require()
    with connection.cursor() as cursor:
        cursor.execute(_PLACES, [user_id, permission.value] * 3)
        return [row[0] for row in cursor.fetchall()]


_PLACES = """
    SELECT NULL::uuid FROM tenants_organizationgrant g JOIN auth_permission p ON p.id = g.permission_id
    WHERE g.user_id = %s AND p.codename = %s
    UNION ALL
    SELECT g.content_object_id FROM tenants_projectgrant g JOIN auth_permission p ON p.id = g.permission_id
    WHERE g.user_id = %s AND p.codename = %s
    UNION ALL
    SELECT r.id FROM tenants_teamgrant g JOIN auth_permission p ON p.id = g.permission_id
    JOIN tenants_project r ON r.team_id = g.content_object_id
    WHERE g.user_id = %s AND p.codename = %s
"""
