"""The shapes of tenancy in the API, and the plain dicts that fill them."""

from __future__ import annotations

from rest_framework import serializers

from core.api.fields import ReasonOutput, ReferenceOutput
from tenants.enums import DataClass, Environment, Permission, Role, Standing
from tenants.models import Membership, Project


class PermissionList(serializers.ListField):
    child = serializers.ChoiceField(Permission.choices)


class TokenOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    prefix = serializers.CharField(help_text="The first letters of the secret, to know it by.")
    scopes = serializers.ListField(child=serializers.CharField(), help_text="Empty: all that its owner may.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute.")
    rotated_from = serializers.UUIDField(allow_null=True, help_text="The token in whose place this one stands.")


class NewTokenOutput(TokenOutput):
    secret = serializers.CharField(required=False, help_text="Shown this once; a replayed answer leaves it out.")


class OrganizationOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()
    currency = serializers.CharField()
    time_zone = serializers.CharField()
    standing = serializers.ChoiceField(Standing.choices)
    created_at = serializers.DateTimeField()


class ProjectOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    organization = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()
    environment = serializers.ChoiceField(Environment.choices)
    data_class = serializers.ChoiceField(DataClass.choices)
    cost_centre = serializers.CharField(allow_blank=True)
    team = ReferenceOutput(allow_null=True)
    created_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True)


class MoveAskedOutput(ProjectOutput):
    """The project as it is, while a move to another team waits."""

    approval = serializers.UUIDField()
    waits = ReasonOutput(many=True, help_text="Why the move needs approval.")


class PersonOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    email = serializers.EmailField()
    full_name = serializers.CharField()
    time_zone = serializers.CharField()
    platform_role = serializers.CharField(allow_blank=True)


class MyOrganizationOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()
    active = serializers.BooleanField(help_text="Whether this request acts in it.")
    permissions = PermissionList()


class MyProjectOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    organization = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()
    permissions = PermissionList()


class MeOutput(serializers.Serializer[object]):
    person = PersonOutput()
    organizations = MyOrganizationOutput(many=True)
    projects = MyProjectOutput(many=True)


class MembershipOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    user = ReferenceOutput()
    team = ReferenceOutput(allow_null=True)
    project = ReferenceOutput(allow_null=True)
    role = serializers.ChoiceField(Role.choices)
    created_at = serializers.DateTimeField()


class RoleOutput(serializers.Serializer[object]):
    name = serializers.ChoiceField(Role.choices)
    label = serializers.CharField()  # type: ignore[assignment]
    held_on = serializers.ChoiceField(["organization", "project"])
    permissions = PermissionList()


ORGANIZATION_COLUMNS = ("id", "slug", "name", "currency", "time_zone", "standing", "created_at", "version")
TOKEN_COLUMNS = ("id", "name", "prefix", "scopes", "created_at", "expires_at", "last_used_at", "rotated_from")


def project(row: Project) -> dict[str, object]:
    return {
        "id": row.pk,
        "organization": row.organization_id,
        "slug": row.slug,
        "name": row.name,
        "environment": row.environment,
        "data_class": row.data_class,
        "cost_centre": row.cost_centre,
        "team": {"id": row.team_id, "label": row.team.slug} if row.team else None,
        "created_at": row.created_at,
        "closed_at": row.closed_at,
    }


def membership(row: Membership) -> dict[str, object]:
    return {
        "id": row.pk,
        "user": {"id": row.user_id, "label": row.user.label},
        "team": {"id": row.team_id, "label": row.team.slug} if row.team else None,
        "project": {"id": row.project_id, "label": row.project.slug} if row.project else None,
        "role": row.role,
        "created_at": row.created_at,
    }
