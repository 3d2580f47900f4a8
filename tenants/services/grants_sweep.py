"""The sweep that proves guardian's rows equal to the memberships: where they differ, it says so, and mends them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import structlog
from prometheus_client import Counter

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.types import Json, system_actor
from tenants.models import Organization
from tenants.selectors.places import all_organization_ids
from tenants.services import projection

log = structlog.get_logger(__name__)
_DRIFT = Counter("steelyard_grant_drift_total", "Places where guardian's rows differed from the memberships.")
_MOST_TOLD = 50


def sweep(*, now: datetime) -> int:
    """Every organisation, each in a scope of its own; how many places differed."""
    with scope.of_platform():
        ids = all_organization_ids()
    return sum(_prove(organization_id, now) for organization_id in ids)


def _prove(organization_id: UUID, now: datetime) -> int:
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(organization_id):
        organization = Organization.objects.get(pk=organization_id)
        drift = projection.prove(organization)
        if drift:
            told: list[Json] = [*drift[:_MOST_TOLD]]
            actor = system_actor("sweeper", organization_id)
            audit.record(actor, "grants.mended", organization.ref, now=now, after={"drift": told})
    if drift:
        _DRIFT.inc(len(drift))
        log.error("grants_drifted", organization=str(organization_id), places=drift[:_MOST_TOLD])
    return len(drift)
