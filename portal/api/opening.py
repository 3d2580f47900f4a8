"""The way into a workspace: a one-time address at the workspace's own origin."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.routes import route
from portal.workspace_address import entry_url
from provisioning.services.entries import open_entry
from tenants.enums import Permission


class OpenedOutput(serializers.Serializer[object]):
    url = serializers.URLField(required=False, help_text="Works once. A replayed answer leaves it out.")
    expires_at = serializers.DateTimeField()


class OpenWorkload(Endpoint):
    @route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.opened")
    @shape(
        summary="Open a workspace",
        output=OpenedOutput,
        refuses=True,
        example={
            "url": "http://wk3f9.localhost:8001/_steelyard/enter?code=…&next=%2F",
            "expires_at": "2026-11-30T18:00:30Z",
        },
    )
    def post(self, request: Request, workload_id: UUID) -> HttpResponse:
        """For its owner alone, while it runs. The address buys a cookie of the workspace's own origin."""
        opened = open_entry(actor=self.actor, workload_id=workload_id, now=self.moment)
        body = {"url": entry_url(opened.label, opened.code, opened.path), "expires_at": opened.expires_at}
        return self.answer(body, secrets=("url",))
