"""Around the audit log: saved views, streams, how long it is kept and how it is proven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from core.anchors import last_anchor, public_keys
from core.api.endpoint import Endpoint
from core.api.inputs import Flag, Input, Text, Whole
from core.api.shapes import shape
from core.errors import NotFound
from core.models import AuditStream, AuditView
from core.routes import route
from core.sealing import head_of
from core.types import Actor
from portal.api.audit import readable_organization
from portal.audit_filters import chosen_of
from tenants.enums import Permission
from tenants.services import audit_log

_VIEW_EXAMPLE = {
    "id": "0199aa00-0000-7000-8000-000000000011",
    "name": "Denials",
    "query": {"outcome": "denied"},
    "shared": True,
    "owner": "0199aa00-0000-7000-8000-000000000005",
    "created_at": "2026-11-30T18:00:00Z",
}
_STREAM_EXAMPLE = {
    "id": "0199aa00-0000-7000-8000-000000000012",
    "name": "siem",
    "url": "https://siem.example/in",
    "enabled": True,
    "state": "up_to_date",
    "delivered_up_to": 4711,
    "waiting": 0,
    "last_error": "",
    "paused_reason": "",
    "failures": 0,
    "delivered_at": "2026-11-30T18:00:00Z",
    "created_at": "2026-11-30T17:00:00Z",
    "version": 1,
}
_STATES = ("off", "paused", "retrying", "delivering", "up_to_date")


class AuditViewOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    query = serializers.DictField(help_text="Filters as the list of audit events takes them.")
    shared = serializers.BooleanField()
    owner = serializers.UUIDField()
    created_at = serializers.DateTimeField()


@dataclass(frozen=True, slots=True)
class NewView:
    name: str
    query: dict[str, str]
    shared: bool = False


class NewViewInput(Input[NewView]):
    into = NewView
    example = {"name": "Denials", "query": {"outcome": "denied"}, "shared": False}

    name = Text(max_length=80)
    query = serializers.DictField(child=Text(max_length=200), help_text="At least one filter.")
    shared = Flag(required=False)


class AuditViews(Endpoint):
    @route(permission=Permission.VIEW_AUDIT, verb="audit_view.listed")
    @shape(summary="List saved views of the audit log", output=AuditViewOutput, listed=True, example=_VIEW_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        """Your own and the shared ones."""
        readable_organization(self.actor)
        return self.page(audit_log.views_visible_to(self.actor).order_by(), _views)

    @route(permission=Permission.VIEW_AUDIT, verb="audit_view.saved")
    @shape(
        summary="Save a view of the audit log",
        input=NewViewInput,
        output=AuditViewOutput,
        status=201,
        example=_VIEW_EXAMPLE,
    )
    def post(self, request: Request) -> HttpResponse:
        """A name that you used before gets the new filters. Sharing needs manage_audit."""
        asked = self.read(NewViewInput)
        view = audit_log.save_view(
            actor=self.actor, name=asked.name, query=chosen_of(asked.query), shared=asked.shared, now=self.moment
        )
        return self.created(_view(view), location=f"/api/v1/audit-views/{view.pk}")


class AuditViewDetail(Endpoint):
    @route(permission=Permission.VIEW_AUDIT, verb="audit_view.viewed")
    @shape(summary="Show a saved view", output=AuditViewOutput, example=_VIEW_EXAMPLE)
    def get(self, request: Request, view_id: UUID) -> HttpResponse:
        view = audit_log.views_visible_to(self.actor).filter(pk=view_id).first()
        if view is None:
            raise NotFound("audit_view", view_id)
        readable_organization(self.actor)
        return self.answer(_view(view))

    @route(permission=Permission.VIEW_AUDIT, verb="audit_view.removed")
    @shape(summary="Remove a saved view", output=None, status=204)
    def delete(self, request: Request, view_id: UUID) -> HttpResponse:
        audit_log.remove_view(actor=self.actor, view_id=view_id, now=self.moment)
        return self.nothing()


class AuditStreamOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    url = serializers.CharField()
    enabled = serializers.BooleanField()
    state = serializers.CharField(help_text=f"One of {', '.join(_STATES)}.")
    delivered_up_to = serializers.IntegerField(help_text="The `seq` of the last entry that was taken.")
    waiting = serializers.IntegerField()
    last_error = serializers.CharField(allow_blank=True)
    paused_reason = serializers.CharField(allow_blank=True)
    failures = serializers.IntegerField()
    delivered_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    version = serializers.IntegerField()


class NewAuditStreamOutput(AuditStreamOutput):
    secret = serializers.CharField(required=False, help_text="Shown this once. A replayed answer leaves it out.")


@dataclass(frozen=True, slots=True)
class NewStream:
    name: str
    url: str
    from_start: bool = False


class NewStreamInput(Input[NewStream]):
    into = NewStream
    example = {"name": "siem", "url": "https://siem.example/in", "from_start": False}

    name = Text(max_length=80)
    url = Text(max_length=500)
    from_start = Flag(required=False, help_text="Send the whole log, not only what comes from now on.")


@dataclass(frozen=True, slots=True)
class StreamChange:
    name: str | None = None
    url: str | None = None
    enabled: bool | None = None


class StreamChangeInput(Input[StreamChange]):
    into = StreamChange
    example = {"enabled": True}

    name = Text(max_length=80, required=False)
    url = Text(max_length=500, required=False)
    enabled = Flag(required=False, help_text="true also ends a pause.")


class AuditStreams(Endpoint):
    @route(permission=Permission.VIEW_AUDIT, verb="audit_stream.listed")
    @shape(summary="List audit streams", output=AuditStreamOutput, listed=True, example=_STREAM_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        head = head_of(self.actor.tenant_id)
        rows = audit_log.streams_of(self.actor).order_by()
        return self.page(rows, lambda found: [_stream(stream, head) for stream in found])

    @route(permission=Permission.MANAGE_AUDIT, verb="audit_stream.created")
    @shape(
        summary="Make an audit stream",
        input=NewStreamInput,
        output=NewAuditStreamOutput,
        status=201,
        refuses=True,
        example={**_STREAM_EXAMPLE, "secret": "whsec_…"},
    )
    def post(self, request: Request) -> HttpResponse:
        """Sealed entries in order, at least once, signed as Standard Webhooks. The secret is in this answer alone."""
        asked = self.read(NewStreamInput)
        stream, secret = audit_log.create_stream(
            actor=self.actor, name=asked.name, url=asked.url, from_start=asked.from_start, now=self.moment
        )
        body = {**_stream(stream, head_of(self.actor.tenant_id)), "secret": secret}
        return self.created(body, location=f"/api/v1/audit-streams/{stream.pk}", secrets=("secret",))


class AuditStreamDetail(Endpoint):
    @route(permission=Permission.VIEW_AUDIT, verb="audit_stream.viewed")
    @shape(summary="Show an audit stream", output=AuditStreamOutput, example=_STREAM_EXAMPLE)
    def get(self, request: Request, stream_id: UUID) -> HttpResponse:
        return self.answer(_stream(_found(self.actor, stream_id), head_of(self.actor.tenant_id)))

    @route(permission=Permission.MANAGE_AUDIT, verb="audit_stream.changed")
    @shape(
        summary="Change an audit stream",
        input=StreamChangeInput,
        output=AuditStreamOutput,
        refuses=True,
        answers={412: "Stale"},
        example=_STREAM_EXAMPLE,
    )
    def patch(self, request: Request, stream_id: UUID) -> HttpResponse:
        asked = self.read(StreamChangeInput)
        stream = audit_log.change_stream(
            actor=self.actor,
            stream_id=stream_id,
            name=asked.name,
            url=asked.url,
            enabled=asked.enabled,
            expected_version=self.expected_version(),
            now=self.moment,
        )
        return self.answer(_stream(stream, head_of(self.actor.tenant_id)))

    @route(permission=Permission.MANAGE_AUDIT, verb="audit_stream.removed")
    @shape(summary="Remove an audit stream", output=None, status=204)
    def delete(self, request: Request, stream_id: UUID) -> HttpResponse:
        audit_log.remove_stream(actor=self.actor, stream_id=stream_id, now=self.moment)
        return self.nothing()


class RotateStreamSecret(Endpoint):
    @route(permission=Permission.MANAGE_AUDIT, verb="audit_stream.secret_rotated")
    @shape(
        summary="Give an audit stream a new secret",
        output=NewAuditStreamOutput,
        example={**_STREAM_EXAMPLE, "secret": "whsec_…"},
    )
    def post(self, request: Request, stream_id: UUID) -> HttpResponse:
        """For 24 hours the former secret signs too."""
        stream, secret = audit_log.rotate_secret(actor=self.actor, stream_id=stream_id, now=self.moment)
        body = {**_stream(stream, head_of(self.actor.tenant_id)), "secret": secret}
        return self.answer(body, secrets=("secret",))


class TestStream(Endpoint):
    @route(permission=Permission.MANAGE_AUDIT, verb="audit_stream.tested")
    @shape(summary="Send a test entry to an audit stream", output=None, status=204, refuses=True)
    def post(self, request: Request, stream_id: UUID) -> HttpResponse:
        """Writes an entry that travels the way of all entries."""
        audit_log.test_stream(actor=self.actor, stream_id=stream_id, now=self.moment)
        return self.nothing()


class AuditKeepingOutput(serializers.Serializer[object]):
    keep_days = serializers.IntegerField(allow_null=True, help_text="null: for ever.")
    sealed_entries = serializers.IntegerField()
    anchored_up_to = serializers.IntegerField(allow_null=True)
    public_keys = serializers.ListField(child=serializers.CharField(), help_text="Ed25519, hexadecimal.")


@dataclass(frozen=True, slots=True)
class Keeping:
    keep_days: int | None


class KeepingInput(Input[Keeping]):
    into = Keeping
    example = {"keep_days": 400}

    keep_days = Whole(allow_null=True, min_value=audit_log.SHORTEST_DAYS, max_value=audit_log.LONGEST_DAYS)


_KEEPING_EXAMPLE = {"keep_days": 400, "sealed_entries": 4711, "anchored_up_to": 4700, "public_keys": ["4f5a…"]}


class AuditKeeping(Endpoint):
    @route(permission=Permission.VIEW_AUDIT, verb="audit.viewed")
    @shape(summary="Show how the audit log is kept and proven", output=AuditKeepingOutput, example=_KEEPING_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        readable_organization(self.actor)
        return self.answer(_keeping(self.actor))

    @route(permission=Permission.MANAGE_AUDIT, verb="audit.retention_set")
    @shape(
        summary="Say how long audit events are kept",
        input=KeepingInput,
        output=AuditKeepingOutput,
        example=_KEEPING_EXAMPLE,
    )
    def put(self, request: Request) -> HttpResponse:
        """What is older goes for good; a signed cut keeps the rest provable."""
        audit_log.keep_for(actor=self.actor, days=self.read(KeepingInput).keep_days, now=self.moment)
        return self.answer(_keeping(self.actor))


def _found(actor: Actor, stream_id: UUID) -> AuditStream:
    stream = AuditStream.objects.filter(organization_id=actor.tenant_id, pk=stream_id).first()
    if stream is None:
        raise NotFound("audit_stream", stream_id)
    readable_organization(actor)
    return stream


def _views(rows: Sequence[AuditView]) -> list[object]:
    return [_view(row) for row in rows]


def _view(view: AuditView) -> dict[str, object]:
    columns = ("name", "query", "shared", "created_at")
    return {"id": view.pk, "owner": view.owner_id, **{name: getattr(view, name) for name in columns}}


def _stream(stream: AuditStream, head: int) -> dict[str, object]:
    columns = ("name", "url", "enabled", "last_error", "paused_reason", "failures", "delivered_at", "created_at")
    waiting = max(head - stream.cursor, 0)
    return {
        "id": stream.pk,
        **{name: getattr(stream, name) for name in columns},
        "state": _state(stream, waiting),
        "delivered_up_to": stream.cursor,
        "waiting": waiting,
        "version": stream.version,
    }


def _state(stream: AuditStream, waiting: int) -> str:
    if not stream.enabled:
        return "off"
    if stream.paused_reason:
        return "paused"
    if stream.failures:
        return "retrying"
    return "delivering" if waiting else "up_to_date"


def _keeping(actor: Actor) -> dict[str, object]:
    anchor = last_anchor(actor.tenant_id)
    return {
        "keep_days": audit_log.kept_days(actor.tenant_id),
        "sealed_entries": head_of(actor.tenant_id),
        "anchored_up_to": anchor["seq"] if anchor else None,
        "public_keys": public_keys(),
    }
