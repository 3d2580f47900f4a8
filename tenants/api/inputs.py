"""What the API of tenancy takes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from rest_framework import serializers

from core.api.inputs import Filters, Input, Moment, Text, Whole
from tenants.enums import Role


@dataclass(frozen=True, slots=True)
class NewToken:
    name: str
    scopes: tuple[str, ...] | list[str] = ()
    expires_at: datetime | None = None


class NewTokenInput(Input[NewToken]):
    into = NewToken
    example = {"name": "laptop", "scopes": ["view_workload"], "expires_at": "2027-01-01T00:00:00Z"}

    name = Text(max_length=80)
    scopes = serializers.ListField(
        child=Text(max_length=40), max_length=40, required=False, help_text="Permissions; empty: all that you may."
    )
    expires_at = Moment(required=False, allow_null=True)


@dataclass(frozen=True, slots=True)
class Rotation:
    overlap_seconds: int = 0


class RotationInput(Input[Rotation]):
    into = Rotation
    example = {"overlap_seconds": 3600}

    overlap_seconds = Whole(
        min_value=0,
        max_value=86_400,
        required=False,
        help_text="How long the former token lives on; 0: it dies at once.",
    )


@dataclass(frozen=True, slots=True)
class MembershipFilter:
    user: UUID | None = None
    project: str = ""
    role: str = ""


class MembershipFilters(Filters[MembershipFilter]):
    into = MembershipFilter

    user = serializers.UUIDField(required=False)
    project = serializers.CharField(required=False, max_length=90, help_text="Id or organization/project.")
    role = serializers.ChoiceField(Role.choices, required=False)
