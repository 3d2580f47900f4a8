"""How an organisation's people sign in: whether a second factor is asked for, and by which provider they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from allauth.usersessions.models import UserSession
from django.db import transaction

from core import audit
from core.encryption import encrypted
from core.errors import Conflict, FieldError, Invalid, NotFound, Refused, Stale
from core.names import checked_name, fault_in_name
from core.outgoing import NotReached, check_url
from core.types import Actor, ActorKind, Json, ObjectRef, Reason
from tenants.enums import Origin, Permission, Role
from tenants.models import GroupMapping, IdentityProvider, Membership, Organization, Project, Team
from tenants.permissions import Place, authorize
from tenants.selectors.sign_in import has_second_factor
from tenants.services.memberships import may_manage

SESSION_OF_PROVIDER = "identity_provider"
"""Under this name a session's row says which provider opened it."""


@dataclass(frozen=True, slots=True)
class ProviderDraft:
    """What a provider shall be. `client_secret` None: as it was."""

    name: str
    issuer: str
    client_id: str
    client_secret: str | None
    group_claim: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class MappingDraft:
    """A role for a group; an empty group means everybody who signs in by the provider."""

    group: str
    role: str
    place: Place


@transaction.atomic
def require_second_factor(
    *, actor: Actor, organization: Organization, required: bool, now: datetime, expected_version: int | None = None
) -> Organization:
    """From now on the organisation's people need a second factor, or no longer do.

    Refused to a person without one, whom the rule would lock out at once.
    """
    authorize(actor, Permission.MANAGE_SIGN_IN, organization)
    locked = Organization.objects.select_for_update().get(pk=organization.pk)
    _still(locked.version, expected_version)
    if required and not locked.mfa_required:
        _not_oneself_out(actor, locked)
    before, locked.mfa_required = locked.mfa_required, required
    locked.version += 1
    locked.save(update_fields=["mfa_required", "version"])
    audit.record(
        actor,
        "sign_in.second_factor_set",
        locked.ref,
        now=now,
        before={"mfa_required": before},
        after={"mfa_required": required},
    )
    return locked


def _not_oneself_out(actor: Actor, organization: Organization) -> None:
    if actor.kind is not ActorKind.USER or actor.id is None or actor.bound or has_second_factor(actor.id):
        return
    message = "Set up your own second factor first: without one, this rule would lock you out at once."
    raise Refused([Reason("no_second_factor", message)], ref=organization.ref, code="no_second_factor")


@transaction.atomic
def save_provider(
    *,
    actor: Actor,
    organization: Organization,
    draft: ProviderDraft,
    now: datetime,
    mappings: Sequence[MappingDraft] | None = None,
    expected_version: int | None = None,
) -> IdentityProvider:
    """Make the organisation's provider, or change it. `mappings` None: as they were. A disabled one ends its sessions.

    Another issuer is another provider: nobody who was known to the former is taken for somebody of the new one.
    """
    authorize(actor, Permission.MANAGE_SIGN_IN, organization)
    _check(draft)
    found = IdentityProvider.objects.select_for_update().first()
    _still(found.version if found else 0, expected_version)
    before = _shown(found) if found else None
    provider = found or IdentityProvider(organization=organization, created_at=now, version=0)
    provider.name, provider.issuer, provider.client_id = draft.name, draft.issuer, draft.client_id
    provider.group_claim, provider.enabled = draft.group_claim, draft.enabled
    if draft.client_secret is not None:
        provider.client_secret = encrypted(draft.client_secret) if draft.client_secret else ""
    provider.version += 1
    provider.save()
    if mappings is not None:
        provider.mappings.all().delete()
        for mapping in mappings:
            _map(actor, provider, mapping)
    if not provider.enabled:
        _end_sessions_of(provider.pk)
    audit.record(actor, "identity_provider.saved", provider.ref, now=now, before=before, after=_shown(provider))
    return provider


@transaction.atomic
def remove_provider(*, actor: Actor, organization: Organization, now: datetime) -> None:
    """Take the provider away with its mappings and links; its sessions end.

    The roles that it gave stay, as if they had been granted: nobody would confirm them any more.
    """
    authorize(actor, Permission.MANAGE_SIGN_IN, organization)
    provider = IdentityProvider.objects.select_for_update().first()
    if provider is None:
        raise NotFound("identity_provider", organization.slug)
    before, ref, provider_id = _shown(provider), provider.ref, provider.pk
    Membership.objects.filter(origin=Origin.SSO).update(origin=Origin.GRANTED)
    provider.delete()
    _end_sessions_of(provider_id)
    audit.record(actor, "identity_provider.removed", ref, now=now, before=before)


@transaction.atomic
def map_group(*, actor: Actor, organization: Organization, mapping: MappingDraft, now: datetime) -> GroupMapping:
    """Whoever is in the group gets the role at the next sign-in."""
    authorize(actor, Permission.MANAGE_SIGN_IN, organization)
    provider = IdentityProvider.objects.select_for_update().first()
    if provider is None:
        raise Conflict("Name the provider first.", code="no_provider")
    made = _map(actor, provider, mapping)
    _changed(provider)
    audit.record(actor, "group_mapping.made", _ref_of(made), now=now, after=_mapping_shown(made))
    return made


@transaction.atomic
def unmap_group(*, actor: Actor, organization: Organization, mapping_id: UUID, now: datetime) -> None:
    """The group gives the role no longer; who has it by the group alone loses it at the next sign-in."""
    found = GroupMapping.objects.select_related("provider").filter(pk=mapping_id).first()
    if found is None:
        raise NotFound("group_mapping", mapping_id)
    authorize(actor, Permission.MANAGE_SIGN_IN, organization)
    before, ref = _mapping_shown(found), _ref_of(found)
    _changed(found.provider)
    found.delete()
    audit.record(actor, "group_mapping.removed", ref, now=now, before=before)


def _map(actor: Actor, provider: IdentityProvider, mapping: MappingDraft) -> GroupMapping:
    """Nobody hands out by a group what they could not hand out themselves; an owner's role is never mapped."""
    if mapping.role == Role.OWNER:
        raise Invalid([FieldError("role", "not_mapped", "Owners are named by owners, never by a group.")])
    may_manage(actor, mapping.place, mapping.role)
    place = mapping.place
    row, made = GroupMapping.objects.get_or_create(
        organization_id=provider.organization_id,
        provider=provider,
        group=checked_name("group", mapping.group, most=200, blank=True),
        team=place if isinstance(place, Team) else None,
        project=place if isinstance(place, Project) else None,
        defaults={"role": mapping.role},
    )
    if not made:
        raise Conflict("This group has a role there already. Remove that one first.", code="already_mapped")
    return row


def _check(draft: ProviderDraft) -> None:
    faults = (
        fault_in_name("name", draft.name, most=80),
        fault_in_name("client_id", draft.client_id, most=200),
        fault_in_name("group_claim", draft.group_claim, most=80),
    )
    errors = [fault for fault in faults if fault is not None]
    try:
        check_url(draft.issuer)
    except NotReached as error:
        errors.append(FieldError("issuer", error.code, error.message))
    if errors:
        raise Invalid(errors)


def _still(version: int, expected: int | None) -> None:
    if expected is not None and version != expected:
        raise Stale("It has changed since you read it. Read it again, then send your change.")


def _changed(provider: IdentityProvider) -> None:
    provider.version += 1
    provider.save(update_fields=["version"])


def _end_sessions_of(provider_id: UUID) -> None:
    """What the provider opened ends with it: pages at once, open workspaces when their next check finds nothing."""
    for session in UserSession.objects.filter(**{f"data__{SESSION_OF_PROVIDER}": str(provider_id)}):
        session.end()


def _shown(provider: IdentityProvider) -> dict[str, Json]:
    """For the audit log: without the secret."""
    return {
        "name": provider.name,
        "issuer": provider.issuer,
        "client_id": provider.client_id,
        "group_claim": provider.group_claim,
        "enabled": provider.enabled,
        "version": provider.version,
    }


def _mapping_shown(row: GroupMapping) -> dict[str, Json]:
    place = row.project_id or row.team_id or row.organization_id
    return {"group": row.group, "role": row.role, "on": str(place)}


def _ref_of(row: GroupMapping) -> ObjectRef:
    return ObjectRef("group_mapping", str(row.pk), row.group or "everybody")
