"""Policies: the platform's, which an organisation reads, and its own, which it sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.inputs import Input, Text
from core.api.shapes import shape
from core.routes import route
from core.types import Json
from tenants.enums import Permission, PolicyKind, PolicyMode, PolicyOrigin
from tenants.models import Policy as PolicyRow
from tenants.selectors import organization_of
from tenants.selectors.policies import AnyPolicy, policies_visible_to, policy_for, versions_of
from tenants.services import policies

TERMS_HELP = "What the rule says; its fields depend on the kind. See the documentation of policies."
TERMS_EXAMPLE: dict[str, object] = {
    "accelerators": 4,
    "price_per_hour": {"amount": "20.00", "currency": "USD"},
    "four_eyes": False,
}


class PolicyVersionOutput(serializers.Serializer[object]):
    number = serializers.IntegerField()
    title = serializers.CharField()
    terms = serializers.DictField()
    mode = serializers.ChoiceField(PolicyMode.choices)
    changed_by = serializers.UUIDField(allow_null=True)
    at = serializers.DateTimeField()


class PolicyOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    slug = serializers.CharField()
    title = serializers.CharField()
    kind = serializers.ChoiceField(PolicyKind.choices)
    terms = serializers.DictField(help_text=TERMS_HELP)
    mode = serializers.ChoiceField(PolicyMode.choices, help_text="observe: say what it would do, and do nothing.")
    set_by = serializers.ChoiceField(PolicyOrigin.choices, help_text="The platform's cannot be changed here.")
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()


class OnePolicyOutput(PolicyOutput):
    versions = PolicyVersionOutput(many=True, help_text="Newest first.")


class TermsField(serializers.DictField):
    """Any JSON object; the rule's kind reads it."""


@dataclass(frozen=True, slots=True)
class NewPolicy:
    slug: str
    title: str
    kind: str
    terms: Mapping[str, Json]
    mode: str = PolicyMode.OFF


class NewPolicyInput(Input[NewPolicy]):
    into = NewPolicy
    example = {
        "slug": "large-launches",
        "title": "Large launches",
        "kind": "approval_above",
        "terms": TERMS_EXAMPLE,
        "mode": "observe",
    }

    slug = Text(max_length=40)
    title = Text(max_length=80)
    kind = serializers.ChoiceField(PolicyKind.choices)
    terms = TermsField(help_text=TERMS_HELP)
    mode = serializers.ChoiceField(PolicyMode.choices, required=False, help_text="Left out: off.")


@dataclass(frozen=True, slots=True)
class PolicyChange:
    title: str | None = None
    terms: Mapping[str, Json] | None = field(default=None)
    mode: str | None = None


class PolicyChangeInput(Input[PolicyChange]):
    into = PolicyChange
    example = {"mode": "enforce"}

    title = Text(max_length=80, required=False)
    terms = TermsField(required=False, help_text=TERMS_HELP)
    mode = serializers.ChoiceField(PolicyMode.choices, required=False)


_EXAMPLE: dict[str, object] = {
    "id": "0199aa00-0000-7000-8000-000000000011",
    "slug": "large-launches",
    "title": "Large launches",
    "kind": "approval_above",
    "terms": TERMS_EXAMPLE,
    "mode": "enforce",
    "set_by": "organization",
    "created_at": "2026-11-30T18:00:00Z",
    "changed_at": "2026-11-30T18:00:00Z",
}
_VERSION = {
    "number": 1,
    "title": "Large launches",
    "terms": TERMS_EXAMPLE,
    "mode": "enforce",
    "changed_by": "0199aa00-0000-7000-8000-000000000005",
    "at": "2026-11-30T18:00:00Z",
}
_ONE: dict[str, object] = {**_EXAMPLE, "versions": [_VERSION]}


class Policies(Endpoint):
    @route(permission=Permission.VIEW_POLICY, verb="policy.listed")
    @shape(summary="List policies", output=PolicyOutput, listed=True, example=_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        """The platform's first, then the organisation's own."""
        return self.whole([_policy(each) for each in policies_visible_to(self.actor)])

    @route(permission=Permission.MANAGE_POLICY, verb="policy.created")
    @shape(
        summary="Set a policy",
        input=NewPolicyInput,
        output=OnePolicyOutput,
        status=201,
        refuses=True,
        versioned=True,
        example=_ONE,
    )
    def post(self, request: Request) -> HttpResponse:
        """A rule of the organisation. It only tightens what the platform's rules leave open."""
        asked = self.read(NewPolicyInput)
        made = policies.create(
            actor=self.actor,
            organization=organization_of(self.actor),
            draft=policies.Draft(asked.slug, asked.title, asked.kind, asked.terms, asked.mode),
            now=self.moment,
        )
        return self.created(_whole(made), location=f"/api/v1/policies/{made.pk}", version=made.version)


class Policy(Endpoint):
    @route(permission=Permission.VIEW_POLICY, verb="policy.viewed")
    @shape(summary="Show a policy", output=OnePolicyOutput, versioned=True, example=_ONE)
    def get(self, request: Request, policy_id: UUID) -> HttpResponse:
        found = policy_for(self.actor, policy_id)
        return self.one(found.version, lambda: _whole(found))

    @route(permission=Permission.MANAGE_POLICY, verb="policy.changed")
    @shape(summary="Change a policy", input=PolicyChangeInput, output=OnePolicyOutput, versioned=True, example=_ONE)
    def patch(self, request: Request, policy_id: UUID) -> HttpResponse:
        """Whatever is given changes; each change is a new version, and the old ones are kept."""
        asked = self.read(PolicyChangeInput)
        changed = policies.change(
            actor=self.actor,
            policy_id=policy_id,
            title=asked.title,
            terms=asked.terms,
            mode=asked.mode,
            now=self.moment,
            expected_version=self.expected_version(),
        )
        return self.one(changed.version, lambda: _whole(changed))

    @route(permission=Permission.MANAGE_POLICY, verb="policy.retired")
    @shape(summary="Retire a policy", output=None, status=204, versioned=True)
    def delete(self, request: Request, policy_id: UUID) -> HttpResponse:
        """It says nothing any more. What it said is kept."""
        policies.retire(
            actor=self.actor, policy_id=policy_id, now=self.moment, expected_version=self.expected_version()
        )
        return self.nothing()


def _policy(row: AnyPolicy) -> dict[str, object]:
    own = isinstance(row, PolicyRow)
    return {
        "id": row.pk,
        "slug": row.slug,
        "title": row.title,
        "kind": row.kind,
        "terms": row.terms,
        "mode": row.mode,
        "set_by": PolicyOrigin.ORGANIZATION if own else PolicyOrigin.PLATFORM,
        "created_at": row.created_at,
        "changed_at": row.changed_at,
    }


def _whole(row: AnyPolicy) -> dict[str, object]:
    versions = [
        {
            "number": each.number,
            "title": each.title,
            "terms": each.terms,
            "mode": each.mode,
            "changed_by": each.changed_by,
            "at": each.at,
        }
        for each in versions_of(row)
    ]
    return {**_policy(row), "versions": versions}
