"""Quotas: limit, used, left, and who holds what."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import NotFound
from core.routes import route
from tenants.api import outputs
from tenants.api.inputs import LimitInput, QuotaFilters
from tenants.api.outputs import QuotaOutput
from tenants.enums import Permission
from tenants.models import Quota as QuotaRow
from tenants.selectors import holds_of, project_for, quotas_visible_to
from tenants.services import quotas

_EXAMPLE = {
    "id": "0199aa00-0000-7000-8000-000000000002",
    "scope": {"id": "0199aa00-0000-7000-8000-000000000003", "label": "vision"},
    "resource": "accelerators/H100",
    "limit": 10,
    "used": 2,
    "left": 8,
    "reserved": 0,
    "borrowed": 0,
    "holds": [
        {
            "holder": {
                "kind": "workload",
                "id": "0199aa00-0000-7000-8000-000000000004",
                "label": "notebook",
                "owner": "0199aa00-0000-7000-8000-000000000005",
            },
            "amount": 2,
            "since": "2026-11-30T18:00:00Z",
        }
    ],
}


class Quotas(Endpoint):
    @route(permission=Permission.VIEW_QUOTA, verb="quota.listed")
    @shape(summary="List quotas", output=QuotaOutput, filters=QuotaFilters, listed=True, example=_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        asked = self.filters(QuotaFilters)
        rows = quotas_visible_to(self.actor)
        if asked.project:
            rows = rows.filter(project=project_for(self.actor, asked.project))
        if asked.resource:
            rows = rows.filter(resource=asked.resource)
        return self.page(rows, _present)


class Quota(Endpoint):
    @route(permission=Permission.VIEW_QUOTA, verb="quota.viewed")
    @shape(summary="Show a quota", output=QuotaOutput, versioned=True, example=_EXAMPLE)
    def get(self, request: Request, quota_id: UUID) -> HttpResponse:
        """Its ETag is the version of the limit; what is used grows by itself and is not part of it."""
        found = quotas_visible_to(self.actor).filter(pk=quota_id).first()
        if found is None:
            raise NotFound("quota", quota_id)
        return self.one(found.version, lambda: _present([found])[0])

    @route(permission=Permission.MANAGE_QUOTA, verb="quota.limit_set")
    @shape(summary="Set a limit", input=LimitInput, output=QuotaOutput, versioned=True, example=_EXAMPLE)
    def put(self, request: Request, quota_id: UUID) -> HttpResponse:
        """A limit below what is used stops new work and touches nothing that runs."""
        asked = self.read(LimitInput)
        changed = quotas.set_limit(
            actor=self.actor,
            quota_id=quota_id,
            limit=asked.limit,
            now=self.moment,
            expected_version=self.expected_version(),
        )
        return self.one(changed.version, lambda: _present([changed])[0])


def _present(rows: Sequence[QuotaRow]) -> list[object]:
    holds = holds_of(row.pk for row in rows)
    return [outputs.quota(row, holds.get(row.pk, [])) for row in rows]
