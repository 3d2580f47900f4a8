"""C125: the table of roles, cell by cell, both ways: by `authorize` itself, on every kind of place."""

from __future__ import annotations

import pytest
from django.utils import timezone

from core.errors import Forbidden, NotFound
from core.types import Actor, ActorKind
from tenants.enums import Permission, PlatformPermission, PlatformRole, Role
from tenants.models import User
from tenants.permissions import authorize, authorize_platform, permissions_by_project
from tenants.roles import ORGANIZATION_ROLES, PLATFORM_ROLE_PERMISSIONS, PROJECT_ROLES, ROLE_PERMISSIONS, on_team
from tenants.selectors import projects_with
from tenants.selectors.roles import platform_matrix, role_matrix
from tenants.services import memberships, projects, teams
from tests import house

CELLS = [(role, permission) for role in sorted(ROLE_PERMISSIONS) for permission in Permission]
ON_PLACES = [cell for cell in CELLS if cell[0] in PROJECT_ROLES]
PLATFORM_CELLS = [(role, permission) for role in PlatformRole for permission in PlatformPermission]


@pytest.fixture(scope="module")
def world(django_db_setup, django_db_blocker):
    """One organisation for all cells: two projects, one of them in a team, and nobody with a role yet."""
    with django_db_blocker.unblock():
        tenant = house.found("matrix", projects=("inside", "outside"))
        house.join(tenant, "olga", "owner")
        with house.an_act(), tenant.scope():
            team = teams.create(
                actor=tenant.actor("olga"),
                organization=tenant.organization,
                slug="team",
                name="Team",
                now=timezone.now(),
            )
        with house.an_act(), tenant.scope():
            tenant.projects["inside"] = projects.change(
                actor=tenant.actor("olga"),
                project_id=tenant.projects["inside"].pk,
                changes={"team_id": team.pk},
                now=timezone.now(),
            )
        yield tenant, team, User.objects.create_user("someone@matrix.example", house.PASSWORD, full_name="Someone")


@pytest.fixture
def held(world, db):
    """Give the one person a role on a place; it is rolled back with the test."""
    tenant, _, someone = world

    def give(role, *, team=None, project=None) -> Actor:
        with house.an_act(), tenant.scope():
            memberships.grant(
                actor=house.SYSTEM,
                organization=tenant.organization,
                user=someone,
                role=role,
                project=project,
                team=team,
                now=timezone.now(),
            )
        return house.actor_for(someone, tenant.organization)

    return give


def allowed(tenant, actor, permission, place):
    try:
        with tenant.scope():
            authorize(actor, permission, place)
    except (Forbidden, NotFound):
        return False
    return True


@pytest.mark.parametrize(("role", "permission"), [cell for cell in CELLS if cell[0] in ORGANIZATION_ROLES])
def test_a_role_on_the_organisation_holds_on_it_and_on_everything_below(world, held, role, permission):
    tenant, team, _ = world
    actor = held(role)

    expected = permission in ROLE_PERMISSIONS[role]
    for place in (tenant.organization, team, *tenant.projects.values()):
        assert allowed(tenant, actor, permission, place) is expected, place
    with tenant.scope():
        assert projects_with(actor, permission).count() == (2 if expected else 0)


@pytest.mark.parametrize(("role", "permission"), ON_PLACES)
def test_a_role_on_a_team_holds_on_it_and_on_its_projects_alone(world, held, role, permission):
    tenant, team, _ = world
    actor = held(role, team=team)

    assert allowed(tenant, actor, permission, team) is (permission in on_team(role))
    assert allowed(tenant, actor, permission, tenant.projects["inside"]) is (permission in on_team(role))
    assert not allowed(tenant, actor, permission, tenant.projects["outside"])
    assert not allowed(tenant, actor, permission, tenant.organization)
    with tenant.scope():
        expected = [tenant.projects["inside"].pk] if permission in on_team(role) else []
        assert [row.pk for row in projects_with(actor, permission)] == expected


@pytest.mark.parametrize(("role", "permission"), ON_PLACES)
def test_c125_a_role_on_a_project_holds_on_it_alone(world, held, role, permission):
    tenant, team, _ = world
    here, there = tenant.projects["outside"], tenant.projects["inside"]
    actor = held(role, project=here)

    assert allowed(tenant, actor, permission, here) is (permission in ROLE_PERMISSIONS[role])
    for elsewhere in (there, team, tenant.organization):
        assert not allowed(tenant, actor, permission, elsewhere)
    with tenant.scope():
        by_project = permissions_by_project(actor, [here.pk, there.pk])
    assert by_project[here.pk] == ROLE_PERMISSIONS[role]
    assert by_project[there.pk] == frozenset()


@pytest.mark.parametrize(("role", "permission"), PLATFORM_CELLS)
def test_a_platform_role_holds_across_organisations_as_the_table_says(role, permission):
    actor = Actor(ActorKind.USER, None, None, platform_role=role)

    if permission in PLATFORM_ROLE_PERMISSIONS[role]:
        authorize_platform(actor, permission)
        return
    with pytest.raises(Forbidden):
        authorize_platform(actor, permission)


@pytest.mark.parametrize("permission", PlatformPermission)
def test_who_has_no_platform_role_learns_of_no_console(permission):
    with pytest.raises(NotFound):
        authorize_platform(Actor(ActorKind.USER, None, None), permission)


@pytest.mark.parametrize("role", Role)
def test_a_token_holds_no_more_than_its_scopes(world, held, role):
    tenant, team, someone = world
    place = tenant.organization if role in ORGANIZATION_ROLES else team
    held(role, team=None if place is tenant.organization else team)
    narrow = Actor(
        ActorKind.USER, someone.pk, tenant.organization.pk, scopes=frozenset({Permission.VIEW_PROJECT.value})
    )

    assert allowed(tenant, narrow, Permission.VIEW_PROJECT, place)
    assert not any(allowed(tenant, narrow, each, place) for each in Permission if each != Permission.VIEW_PROJECT)


class TestMatrixPage:
    def test_shows_every_cell_as_the_table_has_it(self):
        matrix = role_matrix()

        shown = {
            (column.name, row.name)
            for group in matrix.groups
            for row in group.rows
            for column, granted in zip(matrix.columns, row.granted, strict=True)
            if granted
        }
        assert shown == {(role.value, each.value) for role, held_ in ROLE_PERMISSIONS.items() for each in held_}
        assert len([row for group in matrix.groups for row in group.rows]) == len(Permission)

    def test_shows_the_platforms_roles_too(self, aurora):
        page = house.client_for(aurora, "victor").get("/organization/roles").content.decode()

        assert all(column.label in page for column in (*role_matrix().columns, *platform_matrix().columns))
