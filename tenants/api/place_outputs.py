"""The shapes of teams, invitations and service accounts in the API, and the plain dicts that fill them."""

from __future__ import annotations

from datetime import datetime

from rest_framework import serializers

from core.api.fields import ReferenceOutput
from tenants.enums import Role
from tenants.models import Invitation, ServiceAccount, Team

INVITATION_STATES = ["open", "expired", "accepted", "revoked"]


class TeamOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()


class InvitationOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    email = serializers.EmailField()
    role = serializers.ChoiceField(Role.choices)
    team = ReferenceOutput(allow_null=True)
    project = ReferenceOutput(allow_null=True, help_text="Neither team nor project: the organisation.")
    state = serializers.ChoiceField(INVITATION_STATES)
    invited_by = serializers.UUIDField(allow_null=True)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    mailed_at = serializers.DateTimeField(allow_null=True)
    mail_error = serializers.CharField(allow_blank=True, help_text="Why the mail is not sent yet.")


class NewInvitationOutput(InvitationOutput):
    link = serializers.URLField(required=False, help_text="Works once. Shown now; a replayed answer leaves it out.")


class ServiceAccountOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    user = serializers.UUIDField(help_text="Whom memberships and tokens name.")
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    disabled_at = serializers.DateTimeField(allow_null=True)


def team(row: Team) -> dict[str, object]:
    return {"id": row.pk, "slug": row.slug, "name": row.name, "created_at": row.created_at}


def invitation(row: Invitation, now: datetime) -> dict[str, object]:
    return {
        "id": row.pk,
        "email": row.email,
        "role": row.role,
        "team": {"id": row.team_id, "label": row.team.slug} if row.team else None,
        "project": {"id": row.project_id, "label": row.project.slug} if row.project else None,
        "state": _state(row, now),
        "invited_by": row.invited_by,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "mailed_at": row.mailed_at,
        "mail_error": row.mail_error,
    }


def service_account(row: ServiceAccount) -> dict[str, object]:
    return {
        "id": row.pk,
        "user": row.user_id,
        "name": row.name,
        "description": row.description,
        "created_at": row.created_at,
        "disabled_at": row.disabled_at,
    }


def _state(row: Invitation, now: datetime) -> str:
    if row.accepted_at is not None:
        return "accepted"
    if row.revoked_at is not None:
        return "revoked"
    return "open" if row.expires_at > now else "expired"
