"""Handing an organisation over: the new owner owns it, and nothing of the old owner's reaches into it any more."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction

from core import audit
from core.errors import Conflict, FieldError, Invalid
from core.types import Actor
from tenants.enums import Permission, PrincipalKind, Role
from tenants.models import Membership, Organization
from tenants.permissions import authorize
from tenants.roles import ORGANIZATION_ROLES
from tenants.selectors.places import member_by_id
from tenants.services import memberships
from tenants.services.endings import end_sessions, end_tokens
from tenants.services.standing import refuse_closed

LEAVES = ""


@transaction.atomic
def transfer(
    *, actor: Actor, organization: Organization, to_user_id: UUID, then: str, confirmed: str, now: datetime
) -> None:
    """Make a member the owner, and the actor what it chose to be: another role, or (`LEAVES`) nobody here.

    `confirmed` is the organisation's slug, typed. The actor's tokens here are revoked and its sessions ended, all of
    them: its open sockets, workspace cookies and one-time links rest on those, and end at their next check.
    """
    authorize(actor, Permission.TRANSFER_ORGANIZATION, organization)
    refuse_closed(organization)
    _check(organization, then, confirmed)
    assert actor.id is not None
    if to_user_id == actor.id:
        raise Invalid([FieldError("to", "yourself", "Choose somebody else: this is you.")])
    heir = member_by_id(to_user_id)
    if heir.kind != PrincipalKind.PERSON or not heir.is_active:
        raise Conflict("Only a person who can sign in may own an organisation.", code="cannot_own")
    memberships.write(organization=organization, user=heir, role=Role.OWNER, project=None, team=None, now=now)
    held = Membership.objects.filter(user_id=actor.id).select_related("organization", "team", "project", "user")
    own = held.filter(project=None, team=None).first()
    if then == LEAVES:
        memberships.erase(list(held))
    elif own is not None:
        memberships.write(organization=organization, user=own.user, role=then, project=None, team=None, now=now)
    tokens = end_tokens([actor.id], now)
    sessions = end_sessions([actor.id], now)
    audit.record(
        actor,
        "organization.transferred",
        organization.ref,
        now=now,
        before={"owner": str(actor.id)},
        after={
            "owner": str(heir.pk),
            "former_owner_is": then or "gone",
            "tokens_ended_count": tokens,
            "sessions_ended_count": sessions,
        },
    )


def _check(organization: Organization, then: str, confirmed: str) -> None:
    errors = []
    if confirmed.strip() != organization.slug:
        errors.append(FieldError("confirmed", "not_the_slug", f"Type {organization.slug} to confirm."))
    if then != LEAVES and then not in ORGANIZATION_ROLES - {Role.OWNER}:
        errors.append(FieldError("then", "unknown", "Choose another role of the organisation, or to leave."))
    if errors:
        raise Invalid(errors)
