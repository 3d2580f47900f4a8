"""The audit log: every act and every denial of the organisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.fields import ReasonOutput
from core.api.inputs import Filters, Moment
from core.api.shapes import shape
from core.errors import Forbidden
from core.models import AuditEvent, Outcome
from core.routes import route
from core.types import ActorKind
from tenants.enums import Permission
from tenants.permissions import holds
from tenants.selectors import organization_of

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


@dataclass(frozen=True, slots=True)
class EventFilter:
    actor: UUID | None = None
    verb: str = ""
    object: str = ""
    outcome: str = ""
    since: datetime | None = None
    until: datetime | None = None


class EventFilters(Filters[EventFilter]):
    into = EventFilter

    actor = serializers.UUIDField(required=False)
    verb = serializers.CharField(required=False, max_length=80)
    outcome = serializers.ChoiceField(Outcome.choices, required=False)

    def get_fields(self) -> dict[str, serializers.Field[object, object, object, object]]:
        """Names that cannot be written as attributes here. Half-open: from ≤ at < to."""
        return {
            **super().get_fields(),
            "object": serializers.CharField(required=False, max_length=200, help_text="The object's id."),
            "from": Moment(source="since", required=False),
            "to": Moment(source="until", required=False),
        }


class AuditEvents(Endpoint):
    @route(permission=Permission.VIEW_AUDIT, verb="audit.viewed")
    @shape(summary="List audit events", output=AuditEventOutput, filters=EventFilters, listed=True, example=_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        organization = organization_of(self.actor)
        if not holds(self.actor, Permission.VIEW_AUDIT, organization):
            raise Forbidden(Permission.VIEW_AUDIT, organization.ref)
        rows = _matching(AuditEvent.objects.filter(organization_id=organization.pk), self.filters(EventFilters))
        return self.page(rows.values(*_COLUMNS), _present)


def _matching(rows: QuerySet[AuditEvent], asked: EventFilter) -> QuerySet[AuditEvent]:
    exact = {"actor_id": asked.actor, "verb": asked.verb, "object_id": asked.object, "outcome": asked.outcome}
    rows = rows.filter(**{column: value for column, value in exact.items() if value})
    if asked.since:
        rows = rows.filter(at__gte=asked.since)
    if asked.until:
        rows = rows.filter(at__lt=asked.until)
    return rows


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
    }
