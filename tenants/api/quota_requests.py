"""Requests for more quota: asked with a reason, decided by others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.fields import ReferenceOutput
from core.api.inputs import Filters, Input, Moment, Text, Whole
from core.api.shapes import shape
from core.routes import route
from tenants.api.quota_shapes import MOST
from tenants.enums import ApprovalKind, ApprovalState, Decider, Permission, QuotaLevel
from tenants.models import Approval, User
from tenants.selectors import people_by_id
from tenants.selectors.approvals import approvals_visible_to, decisions_on
from tenants.services import quota_requests


class QuotaRequestOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    quota = serializers.UUIDField()
    level = serializers.ChoiceField(QuotaLevel.choices)
    place = serializers.CharField(help_text="The slug of what the quota stands on, or the person's address.")
    resource = serializers.CharField()
    limit_before = serializers.IntegerField()
    limit = serializers.IntegerField(help_text="What is asked for.")
    until = serializers.DateTimeField(allow_null=True, help_text="When the limit falls back. Null: for good.")
    justification = serializers.CharField()
    state = serializers.ChoiceField(ApprovalState.choices)
    decider = serializers.ChoiceField(Decider.choices, help_text="Whose people decide.")
    asked_by = ReferenceOutput(allow_null=True)
    decided_by = ReferenceOutput(allow_null=True)
    comment = serializers.CharField(allow_blank=True, help_text="What was said with the decision.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(help_text="Undecided until then, it runs out.")
    settled_at = serializers.DateTimeField(allow_null=True)


@dataclass(frozen=True, slots=True)
class QuotaRequestAsked:
    quota: UUID
    limit: int
    justification: str = ""
    until: datetime | None = None


class QuotaRequestInput(Input[QuotaRequestAsked]):
    into = QuotaRequestAsked
    example = {
        "quota": "0199aa00-0000-7000-8000-000000000002",
        "limit": 16,
        "justification": "Eight more for the benchmark of the new encoder.",
        "until": "2027-01-31T00:00:00Z",
    }

    quota = serializers.UUIDField()
    limit = Whole(min_value=0, max_value=MOST)
    justification = Text(
        max_length=1000,
        required=False,
        allow_blank=True,
        help_text="Needed: at least 10 characters, for the one who decides.",
    )
    until = Moment(required=False, allow_null=True)


@dataclass(frozen=True, slots=True)
class QuotaDecision:
    comment: str = ""


class QuotaDecisionInput(Input[QuotaDecision]):
    into = QuotaDecision
    example = {"comment": "Until the benchmark is done."}

    comment = Text(max_length=1000, required=False, allow_blank=True)


@dataclass(frozen=True, slots=True)
class QuotaRequestFilter:
    state: str = ""
    quota: UUID | None = None


class QuotaRequestFilters(Filters[QuotaRequestFilter]):
    into = QuotaRequestFilter

    state = serializers.ChoiceField(ApprovalState.choices, required=False)
    quota = serializers.UUIDField(required=False)


_EXAMPLE: dict[str, object] = {
    "id": "0199aa00-0000-7000-8000-000000000011",
    "quota": "0199aa00-0000-7000-8000-000000000002",
    "level": "project",
    "place": "vision",
    "resource": "accelerators/H100",
    "limit_before": 8,
    "limit": 16,
    "until": "2027-01-31T00:00:00Z",
    "justification": "Eight more for the benchmark of the new encoder.",
    "state": "open",
    "decider": "organization",
    "asked_by": {"id": "0199aa00-0000-7000-8000-000000000005", "label": "alice@aurora.example"},
    "decided_by": None,
    "comment": "",
    "created_at": "2026-11-30T18:00:00Z",
    "expires_at": "2026-12-07T18:00:00Z",
    "settled_at": None,
}


class QuotaRequests(Endpoint):
    @route(permission=Permission.VIEW_QUOTA, verb="quota_request.listed")
    @shape(
        summary="List requests for more quota",
        output=QuotaRequestOutput,
        filters=QuotaRequestFilters,
        listed=True,
        example=_EXAMPLE,
    )
    def get(self, request: Request) -> HttpResponse:
        """Your own; for those who decide, everybody's."""
        asked = self.filters(QuotaRequestFilters)
        rows = approvals_visible_to(self.actor).filter(kind=ApprovalKind.QUOTA)
        if asked.state:
            rows = rows.filter(state=asked.state)
        if asked.quota:
            rows = rows.filter(subject_id=asked.quota)
        return self.page(rows, _present)

    @route(permission=Permission.REQUEST_QUOTA, verb="approval.asked")
    @shape(
        summary="Ask for more quota",
        input=QuotaRequestInput,
        output=QuotaRequestOutput,
        status=201,
        example=_EXAMPLE,
    )
    def post(self, request: Request) -> HttpResponse:
        """An owner or admin of the organisation decides; about the organisation's own quota, the platform."""
        asked = self.read(QuotaRequestInput)
        made = quota_requests.ask(
            actor=self.actor,
            quota_id=asked.quota,
            limit=asked.limit,
            justification=asked.justification,
            until=asked.until,
            now=self.moment,
        )
        return self.created(_present([made])[0], location=f"/api/v1/approvals/{made.pk}")


class ApproveQuotaRequest(Endpoint):
    @route(permission=Permission.DECIDE_APPROVAL, verb="approval.approved")
    @shape(summary="Approve", input=QuotaDecisionInput, output=QuotaRequestOutput, refuses=True, example=_EXAMPLE)
    def post(self, request: Request, request_id: UUID) -> HttpResponse:
        """The limit is raised at once, and falls back where the request says until when."""
        words = self.read(QuotaDecisionInput)
        done = quota_requests.approve(actor=self.actor, request_id=request_id, comment=words.comment, now=self.moment)
        return self.answer(_present([done])[0])


class RefuseQuotaRequest(Endpoint):
    @route(permission=Permission.DECIDE_APPROVAL, verb="approval.refused")
    @shape(summary="Refuse", input=QuotaDecisionInput, output=QuotaRequestOutput, refuses=True, example=_EXAMPLE)
    def post(self, request: Request, request_id: UUID) -> HttpResponse:
        words = self.read(QuotaDecisionInput)
        done = quota_requests.refuse(actor=self.actor, request_id=request_id, comment=words.comment, now=self.moment)
        return self.answer(_present([done])[0])


def _present(rows: Sequence[Approval]) -> list[object]:
    said = decisions_on(row.pk for row in rows)
    last = {key: given[-1] for key, given in said.items()}
    people = people_by_id({row.asked_by for row in rows if row.asked_by} | {each.by for each in last.values()})
    return [
        {
            "id": row.pk,
            "quota": row.subject_id,
            **row.payload,
            "until": datetime.fromisoformat(row.payload["until"]) if row.payload["until"] else None,
            "justification": row.justification,
            "state": row.state,
            "decider": row.decider,
            "asked_by": _person(row.asked_by, people),
            "decided_by": _person(last[row.pk].by, people) if row.pk in last else None,
            "comment": last[row.pk].comment if row.pk in last else "",
            "created_at": row.created_at,
            "expires_at": row.expires_at,
            "settled_at": row.settled_at,
        }
        for row in rows
    ]


def _person(person_id: UUID | None, people: dict[UUID, User]) -> dict[str, object] | None:
    if person_id is None:
        return None
    return {"id": person_id, "label": people[person_id].label if person_id in people else ""}
