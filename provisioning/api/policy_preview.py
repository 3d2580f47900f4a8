"""What a rule would have denied, before it is switched on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from uuid import UUID

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.inputs import Input
from core.api.shapes import shape
from core.routes import route
from core.types import Json
from provisioning.selectors.policy_preview import SHOWN
from provisioning.services.policy_preview import preview
from tenants.enums import Permission, PolicyKind


class AffectedOutput(serializers.Serializer[object]):
    workload_id = serializers.UUIDField()
    name = serializers.CharField()
    project = serializers.CharField()
    owner = serializers.CharField()
    at = serializers.DateTimeField()
    outcome = serializers.ChoiceField(["denied", "approval", "stopped"])
    message = serializers.CharField()


class ProjectCountOutput(serializers.Serializer[object]):
    project = serializers.CharField()
    denied = serializers.IntegerField()
    approval = serializers.IntegerField()
    stopped = serializers.IntegerField()


class PolicyPreviewOutput(serializers.Serializer[object]):
    launches = serializers.IntegerField(help_text="How many launches of the last 30 days were judged.")
    denied = serializers.IntegerField()
    approval = serializers.IntegerField(help_text="How many would have needed somebody's word.")
    stopped = serializers.IntegerField(help_text="How many ran longer than it allows.")
    by_project = ProjectCountOutput(many=True)
    affected = AffectedOutput(many=True, help_text=f"The newest {SHOWN}.")
    since = serializers.DateTimeField()


@dataclass(frozen=True, slots=True)
class Asked:
    kind: str
    terms: Mapping[str, Json]
    replaces: UUID | None = None


class PreviewInput(Input[Asked]):
    into = Asked
    example = {"kind": "accelerators", "terms": {"models": []}}

    kind = serializers.ChoiceField(PolicyKind.choices)
    terms = serializers.DictField(help_text="As in a policy of that kind.")
    replaces = serializers.UUIDField(required=False, allow_null=True, help_text="The policy that this would change.")


_EXAMPLE: dict[str, object] = {
    "launches": 40,
    "denied": 3,
    "approval": 0,
    "stopped": 0,
    "by_project": [{"project": "aurora/vision", "denied": 3, "approval": 0, "stopped": 0}],
    "affected": [
        {
            "workload_id": "0199aa00-0000-7000-8000-000000000004",
            "name": "notebook",
            "project": "aurora/vision",
            "owner": "Alice",
            "at": "2026-11-30T18:00:00Z",
            "outcome": "denied",
            "message": "H100 asked; allowed: none at all. Rule: This rule (set by the organisation).",
        }
    ],
    "since": "2026-10-31T18:00:00Z",
}


class PolicyPreview(Endpoint):
    @route(permission=Permission.MANAGE_POLICY, verb="policy.previewed")
    @shape(summary="Preview a policy", input=PreviewInput, output=PolicyPreviewOutput, example=_EXAMPLE)
    def post(self, request: Request) -> HttpResponse:
        """What it would have denied, or let wait, of the launches of the last 30 days. Nothing is stored."""
        asked = self.read(PreviewInput)
        found = preview(actor=self.actor, kind=asked.kind, terms=asked.terms, replaces=asked.replaces, now=self.moment)
        return self.answer(asdict(found), kept=False)
