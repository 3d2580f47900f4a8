"""How an organisation's people sign in: second factor, identity provider, proven domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.inputs import Flag, Input, Text
from core.api.shapes import shape
from core.errors import NotFound
from core.routes import route
from core.types import Actor
from tenants.enums import Permission, Role
from tenants.models import EmailDomain, GroupMapping, IdentityProvider
from tenants.permissions import Place, authorize
from tenants.selectors import organization_of, project_for
from tenants.selectors.places import teams_visible_to
from tenants.selectors.sign_in import domain_of, domains_of, mappings_of, provider_of
from tenants.services import email_domains, sign_in
from tenants.services.sign_in import MappingDraft, ProviderDraft

_FACTOR_EXAMPLE = {"mfa_required": True}
_PROVIDER_EXAMPLE = {
    "id": "0199aa00-0000-7000-8000-000000000050",
    "name": "Aurora account",
    "issuer": "https://id.aurora.example",
    "client_id": "steelyard",
    "group_claim": "groups",
    "enabled": True,
    "mappings": [{"group": "scientists", "role": "developer", "team": None, "project": "aurora/vision"}],
    "created_at": "2026-11-30T18:00:00Z",
}
_DOMAIN_EXAMPLE = {
    "id": "0199aa00-0000-7000-8000-000000000051",
    "domain": "aurora.example",
    "record_name": "_steelyard-challenge.aurora.example",
    "record_value": "steelyard-domain=0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d",
    "created_at": "2026-11-30T18:00:00Z",
    "proven_at": None,
    "checked_at": None,
    "failing_since": None,
}


class SignInOutput(serializers.Serializer[object]):
    mfa_required = serializers.BooleanField(help_text="Whether everybody here needs a second factor.")


@dataclass(frozen=True, slots=True)
class SignInChange:
    mfa_required: bool


class SignInChangeInput(Input[SignInChange]):
    into = SignInChange
    example = _FACTOR_EXAMPLE

    mfa_required = Flag()


class MappingInput(serializers.Serializer[object]):
    group = Text(max_length=200, allow_blank=True, help_text="As the claim has it; empty: everybody.")
    role = serializers.ChoiceField(Role.choices)
    team = serializers.UUIDField(required=False, allow_null=True)
    project = Text(max_length=90, required=False, allow_null=True, help_text="Id or organization/project.")


class ProviderOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    issuer = serializers.CharField()
    client_id = serializers.CharField()
    group_claim = serializers.CharField()
    enabled = serializers.BooleanField()
    mappings = MappingInput(many=True)
    created_at = serializers.DateTimeField()


@dataclass(frozen=True, slots=True)
class ProviderWish:
    name: str
    issuer: str
    client_id: str
    client_secret: str | None = None
    group_claim: str = "groups"
    enabled: bool = True
    mappings: Sequence[Mapping[str, object]] | None = None


class ProviderInput(Input[ProviderWish]):
    into = ProviderWish
    example = {
        "name": "Aurora account",
        "issuer": "https://id.aurora.example",
        "client_id": "steelyard",
        "client_secret": "…",
        "mappings": [{"group": "auditors", "role": "auditor"}],
    }

    name = Text(max_length=80)
    issuer = Text(max_length=300, help_text="Exactly as its description says it; https.")
    client_id = Text(max_length=200)
    client_secret = Text(max_length=400, required=False, allow_blank=True, help_text="Never shown. Absent: as it was.")
    group_claim = Text(max_length=80, required=False)
    enabled = Flag(required=False)
    mappings = MappingInput(many=True, required=False, help_text="All of them. Absent: as they were.")


class DomainOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    domain = serializers.CharField()
    record_name = serializers.CharField(help_text="Where the TXT record stands.")
    record_value = serializers.CharField(help_text="What it says.")
    created_at = serializers.DateTimeField()
    proven_at = serializers.DateTimeField(allow_null=True)
    checked_at = serializers.DateTimeField(allow_null=True)
    failing_since = serializers.DateTimeField(allow_null=True)


@dataclass(frozen=True, slots=True)
class NewDomain:
    domain: str


class NewDomainInput(Input[NewDomain]):
    into = NewDomain
    example = {"domain": "aurora.example"}

    domain = Text(max_length=253)


class SignIn(Endpoint):
    @route(permission=Permission.MANAGE_SIGN_IN, verb="sign_in.viewed")
    @shape(summary="Show how people sign in", output=SignInOutput, versioned=True, example=_FACTOR_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        here = organization_of(self.actor)
        authorize(self.actor, Permission.MANAGE_SIGN_IN, here)
        return self.one(here.version, lambda: {"mfa_required": here.mfa_required})

    @route(permission=Permission.MANAGE_SIGN_IN, verb="sign_in.second_factor_set")
    @shape(
        summary="Require a second factor, or no longer",
        input=SignInChangeInput,
        output=SignInOutput,
        versioned=True,
        refuses=True,
        example=_FACTOR_EXAMPLE,
    )
    def patch(self, request: Request) -> HttpResponse:
        """Who has none is refused with `second_factor_required`, by session and by personal token."""
        changed = sign_in.require_second_factor(
            actor=self.actor,
            organization=organization_of(self.actor),
            required=self.read(SignInChangeInput).mfa_required,
            expected_version=self.expected_version(),
            now=self.moment,
        )
        return self.one(changed.version, lambda: {"mfa_required": changed.mfa_required})


class Provider(Endpoint):
    @route(permission=Permission.MANAGE_SIGN_IN, verb="identity_provider.viewed")
    @shape(summary="Show the identity provider", output=ProviderOutput, versioned=True, example=_PROVIDER_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        found = provider_of(self.actor)
        if found is None:
            raise NotFound("identity_provider", "here")
        return self.one(found.version, lambda: _provider(self.actor, found))

    @route(permission=Permission.MANAGE_SIGN_IN, verb="identity_provider.saved")
    @shape(
        summary="Save the identity provider",
        input=ProviderInput,
        output=ProviderOutput,
        versioned=True,
        refuses=True,
        example=_PROVIDER_EXAMPLE,
    )
    def put(self, request: Request) -> HttpResponse:
        """One for each organisation. Not enabled: nobody signs in by it, and its sessions end at once."""
        asked = self.read(ProviderInput)
        saved = sign_in.save_provider(
            actor=self.actor,
            organization=organization_of(self.actor),
            draft=ProviderDraft(
                name=asked.name,
                issuer=asked.issuer,
                client_id=asked.client_id,
                client_secret=asked.client_secret,
                group_claim=asked.group_claim,
                enabled=asked.enabled,
            ),
            mappings=None if asked.mappings is None else [_draft(self.actor, each) for each in asked.mappings],
            expected_version=self.expected_version(),
            now=self.moment,
        )
        return self.one(saved.version, lambda: _provider(self.actor, saved))

    @route(permission=Permission.MANAGE_SIGN_IN, verb="identity_provider.removed")
    @shape(summary="Remove the identity provider", output=None, status=204)
    def delete(self, request: Request) -> HttpResponse:
        """Its sessions end at once; roles that it gave stay until they are taken back."""
        sign_in.remove_provider(actor=self.actor, organization=organization_of(self.actor), now=self.moment)
        return self.nothing()


class Domains(Endpoint):
    @route(permission=Permission.MANAGE_SIGN_IN, verb="email_domain.listed")
    @shape(summary="List e-mail domains", output=DomainOutput, listed=True, example=_DOMAIN_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        return self.page(domains_of(self.actor), lambda rows: [_domain(row) for row in rows])

    @route(permission=Permission.MANAGE_SIGN_IN, verb="email_domain.added")
    @shape(
        summary="Add an e-mail domain",
        input=NewDomainInput,
        output=DomainOutput,
        status=201,
        refuses=True,
        example=_DOMAIN_EXAMPLE,
    )
    def post(self, request: Request) -> HttpResponse:
        """It counts for nothing until the TXT record is there and has been checked."""
        row = email_domains.add(
            actor=self.actor,
            organization=organization_of(self.actor),
            domain=self.read(NewDomainInput).domain,
            now=self.moment,
        )
        return self.created(_domain(row), location=f"/api/v1/email-domains/{row.pk}")


class Domain(Endpoint):
    @route(permission=Permission.MANAGE_SIGN_IN, verb="email_domain.viewed")
    @shape(summary="Show an e-mail domain", output=DomainOutput, example=_DOMAIN_EXAMPLE)
    def get(self, request: Request, domain_id: UUID) -> HttpResponse:
        return self.answer(_domain(domain_of(self.actor, domain_id)))

    @route(permission=Permission.MANAGE_SIGN_IN, verb="email_domain.removed")
    @shape(summary="Remove an e-mail domain", output=None, status=204)
    def delete(self, request: Request, domain_id: UUID) -> HttpResponse:
        email_domains.remove(actor=self.actor, domain_id=domain_id, now=self.moment)
        return self.nothing()


class CheckDomain(Endpoint):
    @route(permission=Permission.MANAGE_SIGN_IN, verb="email_domain.check_asked")
    @shape(summary="Look for a domain's record", output=DomainOutput, status=202, example=_DOMAIN_EXAMPLE)
    def post(self, request: Request, domain_id: UUID) -> HttpResponse:
        """Done in the background within seconds: `proven_at` and `checked_at` tell."""
        row = email_domains.ask_check(actor=self.actor, domain_id=domain_id, now=self.moment)
        return self.accepted(_domain(row), location=f"/api/v1/email-domains/{row.pk}")


def _draft(actor: Actor, asked: Mapping[str, object]) -> MappingDraft:
    return MappingDraft(group=str(asked["group"]), role=str(asked["role"]), place=_place(actor, asked))


def _place(actor: Actor, asked: Mapping[str, object]) -> Place:
    if asked.get("project"):
        return project_for(actor, str(asked["project"]))
    if asked.get("team") is None:
        return organization_of(actor)
    team = teams_visible_to(actor).filter(pk=str(asked["team"])).first()
    if team is None:
        raise NotFound("team", asked["team"])
    return team


def _provider(actor: Actor, row: IdentityProvider) -> dict[str, object]:
    return {
        "id": row.pk,
        "name": row.name,
        "issuer": row.issuer,
        "client_id": row.client_id,
        "group_claim": row.group_claim,
        "enabled": row.enabled,
        "mappings": [_mapping(each) for each in mappings_of(actor)],
        "created_at": row.created_at,
    }


def _mapping(row: GroupMapping) -> dict[str, object]:
    project = str(row.project_id) if row.project_id else None
    return {"group": row.group, "role": row.role, "team": row.team_id, "project": project}


def _domain(row: EmailDomain) -> dict[str, object]:
    return {
        "id": row.pk,
        "domain": row.domain,
        "record_name": email_domains.record_name(row.domain),
        "record_value": email_domains.record_value(row),
        "created_at": row.created_at,
        "proven_at": row.proven_at,
        "checked_at": row.checked_at,
        "failing_since": row.failing_since,
    }
