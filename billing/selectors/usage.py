"""Usage sessions that an actor may see."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from fractions import Fraction
from uuid import UUID

from django.db.models import F, Q, QuerySet

from billing.models import UsageSession
from billing.rating import amount
from billing.selectors.weighing import weigh
from core.types import Actor
from tenants.enums import Permission
from tenants.permissions import projects_filter


def usage_sessions_visible_to(actor: Actor) -> QuerySet[UsageSession]:
    """Sessions of the projects whose usage the actor may see."""
    allowed = projects_filter(actor, Permission.VIEW_USAGE, prefix="project_id")
    return UsageSession.objects.filter(allowed).select_related("sku", "period", "project")


def between(sessions: QuerySet[UsageSession], start: datetime | None, end: datetime | None) -> QuerySet[UsageSession]:
    """Those that were held at some time in [start, end)."""
    if start is not None:
        sessions = sessions.filter(Q(during__upper_inf=True) | Q(during__endswith__gt=start))
    if end is not None:
        sessions = sessions.annotate(starts=F("during__startswith")).filter(starts__lt=end)
    return sessions


def session_costs(session_ids: Collection[UUID], now: datetime) -> dict[UUID, Fraction]:
    """The exact cost until `now` of sessions that the caller may see. One query."""
    found: dict[UUID, Fraction] = {}
    for row in weigh(UsageSession.objects.filter(pk__in=session_ids), by=["id"], until=now):
        session_id = UUID(str(row.key[0]))
        found[session_id] = found.get(session_id, Fraction(0)) + amount(row.weight, row.unit, row.unit_price)
    return found
