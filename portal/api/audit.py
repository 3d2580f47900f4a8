"""The audit log: every act and every denial of the organisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request

from core.acts import SourceKind
from core.api.endpoint import Endpoint
from core.api.fields import ReasonOutput
from core.api.inputs import Filters, Moment
from core.api.shapes import shape
from core.audit_search import matching
from core.errors import Forbidden, NotFound
from core.models import AuditEvent, Outcome
from core.routes import route
from core.types import Actor, ActorKind
from portal.audit_exports import CSV, JSON_LINES, MEDIA, export
from portal.audit_filters import search_of
from tenants.enums import Permission
from tenants.permissions import holds
from tenants.selectors import organization_of

if TYPE_CHECKING:
    from tenants.models import Organization

_COLUMNS = (
    "id",
    "at",
    "verb",
    "outcome",
    "before",
    "after",
    "reason",
    "request_id",
    "actor_kind",
    "actor_id",
    "actor_part",
    "on_behalf_of",
    "token_id",
    "object_kind",
    "object_id",
    "object_label",
    "source_kind",
    "source_address",
    "seq",
    "hash",
)
_EXAMPLE = {
    "id": "0199aa00-0000-7000-8000-000000000006",
    "at": "2026-11-30T18:00:00Z",
    "verb": "quota.limit_set",
    "outcome": "done",
    "actor": {
        "kind": "user",
        "id": "0199aa00-0000-7000-8000-000000000005",
        "part": "",
        "on_behalf_of": None,
        "token": None,
    },
    "object": {"kind": "quota", "id": "0199aa00-0000-7000-8000-000000000002", "label": "accelerators"},
    "before": {"limit": 8},
    "after": {"limit": 16},
    "reason": None,
    "source": {"kind": "api", "address": "192.0.2.7", "request_id": "0199aa00-0000-7000-8000-000000000007"},
    "seq": 4711,
    "hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
}


class ActorOutput(serializers.Serializer[object]):
    kind = serializers.ChoiceField([kind.value for kind in ActorKind])
    id = serializers.UUIDField(allow_null=True)
    part = serializers.CharField(allow_blank=True, help_text="Which part of the platform, where it acted itself.")
    on_behalf_of = serializers.UUIDField(allow_null=True)
    token = serializers.UUIDField(allow_null=True)


class ObjectOutput(serializers.Serializer[object]):
    kind = serializers.CharField()
    id = serializers.CharField(allow_blank=True)
    label = serializers.CharField(allow_blank=True)  # type: ignore[assignment]


class SourceOutput(serializers.Serializer[object]):
    kind = serializers.CharField()
    address = serializers.CharField(allow_blank=True)
    request_id = serializers.CharField(allow_blank=True)


class AuditEventOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    verb = serializers.CharField()
    outcome = serializers.ChoiceField(Outcome.choices)
    actor = ActorOutput()
    object = ObjectOutput()
    before = serializers.DictField(allow_null=True)
    after = serializers.DictField(allow_null=True)
    reason = ReasonOutput(allow_null=True)
    source = SourceOutput()  # type: ignore[assignment]
    seq = serializers.IntegerField(allow_null=True, help_text="Its place in the chain; null for a second or so.")
    hash = serializers.CharField(allow_null=True, help_text="SHA-256 in hexadecimal, over the one before and this.")


@dataclass(frozen=True, slots=True)
class EventFilter:
    q: str = ""
    actor: UUID | None = None
    on_behalf_of: UUID | None = None
    verb: str = ""
    object_kind: str = ""
    object: str = ""
    outcome: str = ""
    source: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def chosen(self) -> dict[str, str]:
        """As pages, saved views and exports write it."""
        pairs = {
            "q": self.q,
            "actor": str(self.actor or ""),
            "on_behalf_of": str(self.on_behalf_of or ""),
            "verb": self.verb,
            "object_kind": self.object_kind,
            "object": self.object,
            "outcome": self.outcome,
            "source": self.source,
            "from": self.since.isoformat() if self.since else "",
            "to": self.until.isoformat() if self.until else "",
        }
        return {name: value for name, value in pairs.items() if value}


class EventFilters(Filters[EventFilter]):
    into = EventFilter

    q = serializers.CharField(
        required=False, max_length=200, help_text="Words in verb, object, request, address, or somebody's name."
    )
    actor = serializers.UUIDField(required=False)
    on_behalf_of = serializers.UUIDField(required=False)
    verb = serializers.CharField(required=False, max_length=80, help_text="Exact, or a prefix such as workload.*")
    object_kind = serializers.CharField(required=False, max_length=40)
    outcome = serializers.ChoiceField(Outcome.choices, required=False)

    def get_fields(self) -> dict[str, serializers.Field[object, object, object, object]]:
        """Names that cannot be written as attributes here. Half-open: from ≤ at < to."""
        return {
            **super().get_fields(),
            "object": serializers.CharField(required=False, max_length=200, help_text="The object's id."),
            "source": serializers.ChoiceField([kind.value for kind in SourceKind], required=False),
            "from": Moment(source="since", required=False),
            "to": Moment(source="until", required=False),
        }


@dataclass(frozen=True, slots=True)
class ExportFilter(EventFilter):
    format: str = JSON_LINES


class ExportFilters(EventFilters):
    into = ExportFilter

    def get_fields(self) -> dict[str, serializers.Field[object, object, object, object]]:
        return {
            **super().get_fields(),
            "format": serializers.ChoiceField(sorted(MEDIA), required=False),  # type: ignore[dict-item]
        }


class AuditEvents(Endpoint):
    @route(permission=Permission.VIEW_AUDIT, verb="audit.viewed")
    @shape(summary="List audit events", output=AuditEventOutput, filters=EventFilters, listed=True, example=_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        organization = readable_organization(self.actor)
        search = search_of(self.filters(EventFilters).chosen())
        return self.page(matching(organization.pk, search).values(*_COLUMNS), _present)


class AuditEventDetail(Endpoint):
    @route(permission=Permission.VIEW_AUDIT, verb="audit.viewed")
    @shape(summary="Show an audit event", output=AuditEventOutput, example=_EXAMPLE)
    def get(self, request: Request, event_id: UUID) -> HttpResponse:
        rows = AuditEvent.objects.filter(organization_id=self.actor.tenant_id, pk=event_id)
        row = rows.values(*_COLUMNS).first()
        if row is None:
            raise NotFound("audit_event", event_id)
        readable_organization(self.actor)
        return self.answer(_event(row))


class AuditExport(Endpoint):
    produces = tuple(MEDIA.values())

    @route(permission=Permission.VIEW_AUDIT, verb="audit.exported", scoped=False)
    @shape(
        summary="Export audit events, oldest first",
        output=OpenApiTypes.STR,  # type: ignore[arg-type]  # text has no serializer
        filters=ExportFilters,
        media_type=MEDIA[JSON_LINES],
        other_media=(MEDIA[CSV],),
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """A stream of JSON Lines that the verifier reads (without filters), or CSV. The export is an entry itself."""
        asked: ExportFilter = self.filters(ExportFilters)  # type: ignore[assignment]
        return export(actor=self.actor, chosen=asked.chosen(), form=asked.format, now=self.moment)


def readable_organization(actor: Actor) -> Organization:
    """The actor's organisation, if it may read the log there. Raises Forbidden otherwise."""
    organization = organization_of(actor)
    if not holds(actor, Permission.VIEW_AUDIT, organization):
        raise Forbidden(Permission.VIEW_AUDIT, organization.ref)
    return organization


def _present(rows: Sequence[Mapping[str, object]]) -> list[object]:
    return [_event(row) for row in rows]


def _event(row: Mapping[str, object]) -> dict[str, object]:
    return {
        "id": row["id"],
        "at": row["at"],
        "verb": row["verb"],
        "outcome": row["outcome"],
        "actor": {
            "kind": row["actor_kind"],
            "id": row["actor_id"],
            "part": row["actor_part"],
            "on_behalf_of": row["on_behalf_of"],
            "token": row["token_id"],
        },
        "object": {"kind": row["object_kind"], "id": row["object_id"], "label": row["object_label"]},
        "before": row["before"],
        "after": row["after"],
        "reason": row["reason"],
        "source": {"kind": row["source_kind"], "address": row["source_address"], "request_id": row["request_id"]},
        "seq": row["seq"],
        "hash": bytes(row["hash"]).hex() if isinstance(row["hash"], bytes | memoryview) else None,
    }
