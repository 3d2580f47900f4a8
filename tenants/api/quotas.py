"""Quotas: limit, used, left, reserved and borrowed on every level, and who holds what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import NotFound
from core.routes import route
from tenants.api import quota_shapes as shapes
from tenants.enums import Permission
from tenants.models import Quota as QuotaRow
from tenants.selectors import held_of, project_for, quotas_visible_to
from tenants.selectors.quotas import on_level, quota_place_for
from tenants.services import quotas


class Quotas(Endpoint):
    @route(permission=Permission.VIEW_QUOTA, verb="quota.listed")
    @shape(
        summary="List quotas",
        output=shapes.QuotaOutput,
        filters=shapes.QuotaFilters,
        listed=True,
        example=shapes.EXAMPLE,
    )
    def get(self, request: Request) -> HttpResponse:
        """Those of your projects, of their teams and the organisation above them, and your own."""
        asked = self.filters(shapes.QuotaFilters)
        rows = quotas_visible_to(self.actor)
        if asked.project:
            rows = rows.filter(project=project_for(self.actor, asked.project))
        if asked.resource:
            rows = rows.filter(resource=asked.resource)
        if asked.kind:
            rows = rows.filter(on_level(asked.kind))
        return self.page(rows, _presenter(self.moment))

    @route(permission=Permission.MANAGE_QUOTA, verb="quota.defined")
    @shape(
        summary="Set a quota where there is none",
        input=shapes.QuotaInput,
        output=shapes.QuotaOutput,
        status=201,
        versioned=True,
        example=shapes.EXAMPLE,
    )
    def post(self, request: Request) -> HttpResponse:
        """What is held there already counts. The organisation's own quotas are the platform's to set."""
        asked = self.read(shapes.QuotaInput)
        made = quotas.define_one(
            actor=self.actor,
            place=quota_place_for(self.actor, str(asked.scope["kind"]), str(asked.scope["id"])),
            resource=asked.resource,
            terms=quotas.Terms(asked.limit, asked.borrow_limit, asked.lend_limit),
            now=self.moment,
        )
        [data] = _presenter(self.moment)([made])
        return self.created(data, location=f"/api/v1/quotas/{made.pk}", version=made.version)


class Quota(Endpoint):
    @route(permission=Permission.VIEW_QUOTA, verb="quota.viewed")
    @shape(summary="Show a quota", output=shapes.QuotaOutput, versioned=True, example=shapes.EXAMPLE)
    def get(self, request: Request, quota_id: UUID) -> HttpResponse:
        """Its ETag is the version of the limit; what is used grows by itself and is not part of it."""
        found = quotas_visible_to(self.actor).filter(pk=quota_id).first()
        if found is None:
            raise NotFound("quota", quota_id)
        return self.one(found.version, lambda: _presenter(self.moment)([found])[0])

    @route(permission=Permission.MANAGE_QUOTA, verb="quota.limit_set")
    @shape(
        summary="Set a limit",
        input=shapes.LimitInput,
        output=shapes.QuotaOutput,
        versioned=True,
        example=shapes.EXAMPLE,
    )
    def put(self, request: Request, quota_id: UUID) -> HttpResponse:
        """A limit below what is used stops new work and touches nothing that runs. It ends a temporary raise."""
        asked = self.read(shapes.LimitInput)
        changed = quotas.set_limit(
            actor=self.actor,
            quota_id=quota_id,
            limit=asked.limit,
            borrow_limit=asked.borrow_limit,
            lend_limit=asked.lend_limit,
            now=self.moment,
            expected_version=self.expected_version(),
        )
        return self.one(changed.version, lambda: _presenter(self.moment)([changed])[0])


def _presenter(now: datetime) -> Callable[[Sequence[QuotaRow]], list[object]]:
    def present(rows: Sequence[QuotaRow]) -> list[object]:
        held = held_of(rows)
        return [shapes.quota(row, held[row.pk], now) for row in rows]

    return present
