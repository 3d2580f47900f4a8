"""Roles that an organisation's provider gave last only while it confirms the person: at each sign-in by it.

A password, a token or an open page needs no provider. So that nobody keeps by these what the provider has long taken
away, its roles end some days after it has last been heard about them. What people granted stays.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db.models import Exists, OuterRef, Q, QuerySet

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.types import Json, ObjectRef, system_actor
from tenants.enums import Origin
from tenants.models import ExternalIdentity, Membership
from tenants.services import memberships

log = structlog.get_logger(__name__)
CONFIRMED_FOR = timedelta(days=7)


def end_unconfirmed(*, now: datetime) -> int:
    """Each person in a scope and an act of its own; how many people lost roles."""
    with scope.of_platform():
        people = list(_unconfirmed(now).values_list("organization_id", "user_id").distinct())
    ended = 0
    for organization_id, user_id in people:
        try:
            with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
                ended += _end(organization_id, user_id, now)
        except Exception:
            log.exception("roles_not_ended", organization=str(organization_id), person=str(user_id))
    return ended


def _end(organization_id: UUID, user_id: UUID, now: datetime) -> bool:
    """Whoever signs in meanwhile waits for this, or is confirmed before it."""
    list(ExternalIdentity.objects.select_for_update().filter(user_id=user_id))
    rows = list(_unconfirmed(now).filter(user_id=user_id).select_related("organization", "team", "project"))
    if not rows:
        return False
    roles: list[Json] = [*sorted(f"{row.role} on {row.project_id or row.team_id or organization_id}" for row in rows)]
    memberships.erase(rows)
    actor = system_actor("sign-in", organization_id)
    ref = ObjectRef("person", str(user_id))
    audit.record(actor, "membership.lapsed", ref, now=now, before={"roles": roles}, after={"roles": []})
    return True


def _unconfirmed(now: datetime) -> QuerySet[Membership]:
    since = now - CONFIRMED_FOR
    heard = Q(last_used_at__gt=since) | Q(linked_at__gt=since)
    known = ExternalIdentity.objects.filter(
        heard, user_id=OuterRef("user_id"), organization_id=OuterRef("organization_id")
    )
    return Membership.objects.filter(~Exists(known), origin=Origin.SSO)
