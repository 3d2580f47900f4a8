"""What the API takes about organisations, teams, projects and whoever belongs to them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from uuid import UUID

from rest_framework import serializers

from core.api.inputs import Filters, Input, Text
from core.types import NOBODY
from tenants.enums import DataClass, Environment, Role

KEPT = NOBODY
"""What an id that was not sent stands for: null means none, absent means as it is."""


@dataclass(frozen=True, slots=True)
class OrganizationChange:
    name: str | None = None
    time_zone: str | None = None

    def as_dict(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if value is not None}


class OrganizationChangeInput(Input[OrganizationChange]):
    into = OrganizationChange
    example = {"name": "Aurora Labs", "time_zone": "Europe/Berlin"}

    name = Text(max_length=120, required=False)
    time_zone = Text(max_length=60, required=False, help_text="Counts from the next month.")


@dataclass(frozen=True, slots=True)
class NewTeam:
    slug: str
    name: str


class NewTeamInput(Input[NewTeam]):
    into = NewTeam
    example = {"slug": "seeing", "name": "Seeing"}

    slug = Text(max_length=40)
    name = Text(max_length=120)


@dataclass(frozen=True, slots=True)
class TeamChange:
    name: str


class TeamChangeInput(Input[TeamChange]):
    into = TeamChange
    example = {"name": "Seeing"}

    name = Text(max_length=120)


@dataclass(frozen=True, slots=True)
class Closing:
    slug: str


class ClosingInput(Input[Closing]):
    into = Closing
    example = {"slug": "northwind"}

    slug = Text(max_length=40, help_text="The organisation's own, so that none is closed by mistake.")


@dataclass(frozen=True, slots=True)
class NewProject:
    slug: str
    name: str
    environment: str = Environment.DEVELOPMENT
    data_class: str = DataClass.INTERNAL
    cost_centre: str = ""
    team: UUID | None = None


class NewProjectInput(Input[NewProject]):
    into = NewProject
    example = {
        "slug": "robots",
        "name": "Robots",
        "environment": "dev",
        "data_class": "internal",
        "cost_centre": "CC-9",
    }

    slug = Text(max_length=40, help_text="Used once, for ever.")
    name = Text(max_length=120)
    environment = serializers.ChoiceField(Environment.choices, required=False)
    data_class = serializers.ChoiceField(DataClass.choices, required=False)
    cost_centre = Text(max_length=40, required=False, allow_blank=True)
    team = serializers.UUIDField(required=False, allow_null=True)


@dataclass(frozen=True, slots=True)
class ProjectChange:
    name: str | None = None
    environment: str | None = None
    data_class: str | None = None
    cost_centre: str | None = None
    team: UUID | None = KEPT

    def as_dict(self) -> dict[str, str | UUID | None]:
        given = {name: value for name, value in asdict(self).items() if name != "team" and value is not None}
        return given if self.team == KEPT else {**given, "team_id": self.team}


class ProjectChangeInput(Input[ProjectChange]):
    into = ProjectChange
    example = {"data_class": "confidential", "cost_centre": "CC-10"}

    name = Text(max_length=120, required=False)
    environment = serializers.ChoiceField(Environment.choices, required=False)
    data_class = serializers.ChoiceField(DataClass.choices, required=False)
    cost_centre = Text(max_length=40, required=False, allow_blank=True)
    team = serializers.UUIDField(required=False, allow_null=True, help_text="null takes it out of its team.")


@dataclass(frozen=True, slots=True)
class NewMembership:
    user: UUID
    role: str
    team: UUID | None = None
    project: str = ""


class NewMembershipInput(Input[NewMembership]):
    into = NewMembership
    example = {"user": "0199aa00-0000-7000-8000-000000000005", "project": "aurora/vision", "role": "viewer"}

    user = serializers.UUIDField(help_text="A member, or a service account's `user`.")
    role = serializers.ChoiceField(Role.choices)
    team = serializers.UUIDField(required=False, allow_null=True)
    project = Text(max_length=90, required=False, help_text="Id or organization/project. Neither: the organisation.")


@dataclass(frozen=True, slots=True)
class RoleChange:
    role: str


class RoleChangeInput(Input[RoleChange]):
    into = RoleChange
    example = {"role": "auditor"}

    role = serializers.ChoiceField(Role.choices)


@dataclass(frozen=True, slots=True)
class NewInvitation:
    email: str
    role: str
    team: UUID | None = None
    project: str = ""


class NewInvitationInput(Input[NewInvitation]):
    into = NewInvitation
    example = {"email": "noor@example.com", "project": "aurora/vision", "role": "developer"}

    email = Text(max_length=254)
    role = serializers.ChoiceField(Role.choices)
    team = serializers.UUIDField(required=False, allow_null=True)
    project = Text(max_length=90, required=False, help_text="Id or organization/project. Neither: the organisation.")


@dataclass(frozen=True, slots=True)
class InvitationFilter:
    state: str = ""


class InvitationFilters(Filters[InvitationFilter]):
    into = InvitationFilter

    state = serializers.ChoiceField(["open", "expired", "accepted", "revoked"], required=False)


@dataclass(frozen=True, slots=True)
class NewServiceAccount:
    name: str
    description: str = ""


class NewServiceAccountInput(Input[NewServiceAccount]):
    into = NewServiceAccount
    example = {"name": "nightly training", "description": "Retrains the segmenter."}

    name = Text(max_length=60)
    description = Text(max_length=200, required=False, allow_blank=True)


@dataclass(frozen=True, slots=True)
class ServiceAccountChange:
    name: str | None = None
    description: str | None = None


class ServiceAccountChangeInput(Input[ServiceAccountChange]):
    into = ServiceAccountChange
    example = {"description": "Retrains the segmenter, nightly."}

    name = Text(max_length=60, required=False)
    description = Text(max_length=200, required=False, allow_blank=True)
