"""The shapes of tenancy in the API, and the plain dicts that fill them."""

from __future__ import annotations

from rest_framework import serializers

from core.api.fields import ReferenceOutput
from tenants.enums import DataClass, Environment, Permission, Resource, Role, Standing
from tenants.models import Membership, Project, Quota, QuotaHold


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
    created_at = serializers.DateTimeField()


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
    project = ReferenceOutput(allow_null=True)
    role = serializers.ChoiceField(Role.choices)
    created_at = serializers.DateTimeField()


class RoleOutput(serializers.Serializer[object]):
    name = serializers.ChoiceField(Role.choices)
    label = serializers.CharField()  # type: ignore[assignment]
    held_on = serializers.ChoiceField(["organization", "project"])
    permissions = PermissionList()


class HolderOutput(serializers.Serializer[object]):
    kind = serializers.CharField()
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]
    owner = serializers.UUIDField(allow_null=True)


class HoldOutput(serializers.Serializer[object]):
    holder = HolderOutput()
    amount = serializers.IntegerField()
    since = serializers.DateTimeField()


class QuotaOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    scope = ReferenceOutput(help_text="The project.")
    resource = serializers.CharField(help_text=f"{', '.join(Resource.values)} or accelerators/<model>.")
    limit = serializers.IntegerField()
    used = serializers.IntegerField()
    left = serializers.IntegerField()
    reserved = serializers.IntegerField()
    borrowed = serializers.IntegerField()
    holds = HoldOutput(many=True)


ORGANIZATION_COLUMNS = ("id", "slug", "name", "currency", "time_zone", "standing", "created_at", "version")
TOKEN_COLUMNS = ("id", "name", "prefix", "scopes", "created_at", "expires_at", "last_used_at")


def project(row: Project) -> dict[str, object]:
    return {
        "id": row.pk,
        "organization": row.organization_id,
        "slug": row.slug,
        "name": row.name,
        "environment": row.environment,
        "data_class": row.data_class,
        "cost_centre": row.cost_centre,
        "created_at": row.created_at,
    }


def membership(row: Membership) -> dict[str, object]:
    return {
        "id": row.pk,
        "user": {"id": row.user_id, "label": row.user.email},
        "project": {"id": row.project_id, "label": row.project.slug} if row.project else None,
        "role": row.role,
        "created_at": row.created_at,
    }


def quota(row: Quota, holds: list[QuotaHold]) -> dict[str, object]:
    """Nothing is reserved or borrowed: these are named so that clients need not change when it is."""
    return {
        "id": row.pk,
        "scope": {"id": row.project_id, "label": row.project.slug},
        "resource": row.resource,
        "limit": row.limit,
        "used": row.used,
        "left": max(row.limit - row.used, 0),
        "reserved": 0,
        "borrowed": 0,
        "holds": [hold(found) for found in holds],
    }


def hold(row: QuotaHold) -> dict[str, object]:
    holder = {"kind": row.holder_kind, "id": row.holder_id, "label": row.holder_label, "owner": row.owner_id}
    return {"holder": holder, "amount": row.amount, "since": row.held_from}
