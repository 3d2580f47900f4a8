"""Approvals: what waits for somebody's word, and the word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.fields import ReferenceOutput
from core.api.inputs import Filters, Input, Text
from core.api.shapes import shape
from core.routes import route
from tenants.enums import ApprovalKind, ApprovalState, Decider, Permission, Verdict
from tenants.models import Approval as ApprovalRow
from tenants.models import ApprovalDecision, User
from tenants.selectors import people_by_id
from tenants.selectors.approvals import approval_for, approvals_visible_to, approvals_waiting_for, decisions_on
from tenants.services import approvals


class SubjectOutput(serializers.Serializer[object]):
    kind = serializers.CharField()
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]


class DecisionOutput(serializers.Serializer[object]):
    by = ReferenceOutput()
    at = serializers.DateTimeField()
    verdict = serializers.ChoiceField(Verdict.choices)
    comment = serializers.CharField(allow_blank=True)


class ApprovalOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    kind = serializers.ChoiceField(ApprovalKind.choices)
    state = serializers.ChoiceField(ApprovalState.choices)
    subject = SubjectOutput(help_text="What it is about.")
    project = ReferenceOutput(allow_null=True)
    team = ReferenceOutput(allow_null=True)
    asked_by = ReferenceOutput(allow_null=True)
    justification = serializers.CharField(allow_blank=True)
    payload = serializers.DictField(help_text="What exactly was asked. It never changes.")
    rule = serializers.CharField(allow_blank=True, help_text="What asked for approval.")
    decider = serializers.ChoiceField(Decider.choices, help_text="Whose people decide.")
    needed = serializers.IntegerField(help_text="How many people must agree: 1, or 2 for four eyes.")
    decisions = DecisionOutput(many=True)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    settled_at = serializers.DateTimeField(allow_null=True)


@dataclass(frozen=True, slots=True)
class ApprovalFilter:
    state: str = ""
    kind: str = ""
    mine: str = ""


class ApprovalFilters(Filters[ApprovalFilter]):
    into = ApprovalFilter

    state = serializers.ChoiceField(ApprovalState.choices, required=False)
    kind = serializers.ChoiceField(ApprovalKind.choices, required=False)
    mine = serializers.ChoiceField(
        ["asked", "to_decide"], required=False, help_text="What you asked for, or what waits for you."
    )


@dataclass(frozen=True, slots=True)
class Comment:
    comment: str = ""


class CommentInput(Input[Comment]):
    into = Comment
    example = {"comment": "Until Friday."}

    comment = Text(max_length=1000, required=False, allow_blank=True)


_EXAMPLE: dict[str, object] = {
    "id": "0199aa00-0000-7000-8000-000000000010",
    "kind": "launch",
    "state": "open",
    "subject": {"kind": "workload", "id": "0199aa00-0000-7000-8000-000000000004", "label": "training"},
    "project": {"id": "0199aa00-0000-7000-8000-000000000003", "label": "vision"},
    "team": None,
    "asked_by": {"id": "0199aa00-0000-7000-8000-000000000005", "label": "alice@aurora.example"},
    "justification": "The big run.",
    "payload": {"shape": "h100-8", "price_per_hour": {"amount": "23.60", "currency": "USD"}},
    "rule": "large-launches",
    "decider": "organization",
    "needed": 1,
    "decisions": [],
    "created_at": "2026-11-30T18:00:00Z",
    "expires_at": "2026-12-07T18:00:00Z",
    "settled_at": None,
}


class Approvals(Endpoint):
    @route(permission=Permission.VIEW_APPROVAL, verb="approval.listed")
    @shape(summary="List approvals", output=ApprovalOutput, filters=ApprovalFilters, listed=True, example=_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        """Your own, and those of the places where you may see them."""
        asked = self.filters(ApprovalFilters)
        waiting = asked.mine == "to_decide"
        rows = approvals_waiting_for(self.actor, now=self.moment) if waiting else approvals_visible_to(self.actor)
        if asked.mine == "asked":
            rows = rows.filter(asked_by=self.actor.person_id)
        if asked.state:
            rows = rows.filter(state=asked.state)
        if asked.kind:
            rows = rows.filter(kind=asked.kind)
        return self.page(rows, _present)


class Approval(Endpoint):
    @route(permission=Permission.VIEW_APPROVAL, verb="approval.viewed")
    @shape(summary="Show an approval", output=ApprovalOutput, versioned=True, example=_EXAMPLE)
    def get(self, request: Request, approval_id: UUID) -> HttpResponse:
        found = approval_for(self.actor, approval_id)
        return self.one(found.version, lambda: _present([found])[0])


class Approve(Endpoint):
    @route(permission=Permission.DECIDE_APPROVAL, verb="approval.approved")
    @shape(summary="Approve", input=CommentInput, output=ApprovalOutput, refuses=True, example=_EXAMPLE)
    def post(self, request: Request, approval_id: UUID) -> HttpResponse:
        """Nobody decides their own request, nor twice. Where `needed` is 2, the second person's word approves it."""
        words = self.read(CommentInput)
        done = approvals.approve(actor=self.actor, approval_id=approval_id, comment=words.comment, now=self.moment)
        return self.one(done.version, lambda: _present([done])[0])


class Refuse(Endpoint):
    @route(permission=Permission.DECIDE_APPROVAL, verb="approval.refused")
    @shape(summary="Refuse", input=CommentInput, output=ApprovalOutput, refuses=True, example=_EXAMPLE)
    def post(self, request: Request, approval_id: UUID) -> HttpResponse:
        """One refusal is enough. What was asked for does not happen."""
        words = self.read(CommentInput)
        done = approvals.refuse(actor=self.actor, approval_id=approval_id, comment=words.comment, now=self.moment)
        return self.one(done.version, lambda: _present([done])[0])


class Withdraw(Endpoint):
    @route(permission=Permission.VIEW_APPROVAL, verb="approval.voided")
    @shape(summary="Take your request back", output=ApprovalOutput, refuses=True, example=_EXAMPLE)
    def post(self, request: Request, approval_id: UUID) -> HttpResponse:
        done = approvals.void(actor=self.actor, approval_id=approval_id, now=self.moment)
        return self.one(done.version, lambda: _present([done])[0])


def _present(rows: Sequence[ApprovalRow]) -> list[object]:
    said = decisions_on(row.pk for row in rows)
    ids = {row.asked_by for row in rows if row.asked_by} | {each.by for given in said.values() for each in given}
    people = people_by_id(ids)
    return [_approval(row, said.get(row.pk, []), people) for row in rows]


def _approval(row: ApprovalRow, said: Sequence[ApprovalDecision], people: dict[UUID, User]) -> dict[str, object]:
    return {
        "id": row.pk,
        "kind": row.kind,
        "state": row.state,
        "subject": {"kind": row.subject_kind, "id": row.subject_id, "label": row.subject_label},
        "project": {"id": row.project.pk, "label": row.project.slug} if row.project else None,
        "team": {"id": row.team.pk, "label": row.team.slug} if row.team else None,
        "asked_by": _person(row.asked_by, people) if row.asked_by else None,
        "justification": row.justification,
        "payload": row.payload,
        "rule": row.rule,
        "decider": row.decider,
        "needed": row.needed,
        "decisions": [
            {"by": _person(each.by, people), "at": each.at, "verdict": each.verdict, "comment": each.comment}
            for each in said
        ],
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "settled_at": row.settled_at,
    }


def _person(person_id: UUID, people: dict[UUID, User]) -> dict[str, object]:
    return {"id": person_id, "label": people[person_id].label if person_id in people else ""}
