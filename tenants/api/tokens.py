"""Access tokens: one's own, and those of service accounts for who manages these."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import NotFound
from core.routes import AUTHENTICATED, route
from tenants.api.inputs import NewTokenInput, RotationInput
from tenants.api.outputs import TOKEN_COLUMNS, NewTokenOutput, TokenOutput
from tenants.enums import Permission
from tenants.models import AccessToken
from tenants.permissions import authorize
from tenants.selectors import organization_of, tokens_of, tokens_of_account
from tenants.services import tokens
from tenants.services.service_accounts import account_by_id

_EXAMPLE = {
    "id": "0199aa00-0000-7000-8000-000000000001",
    "name": "laptop",
    "prefix": "sty_ab12cd",
    "scopes": ["view_workload"],
    "created_at": "2026-11-30T18:00:00Z",
    "expires_at": None,
    "last_used_at": None,
    "rotated_from": None,
}
_NEW_EXAMPLE = {**_EXAMPLE, "secret": "sty_…"}


class Tokens(Endpoint):
    @route(permission=AUTHENTICATED, verb="token.listed")
    @shape(summary="List your tokens", output=TokenOutput, listed=True, example=_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        return self.page(tokens_of(self.actor, now=self.moment).values(*TOKEN_COLUMNS), list)

    @route(permission=AUTHENTICATED, verb="token.created")
    @shape(
        summary="Make a token",
        input=NewTokenInput,
        output=NewTokenOutput,
        status=201,
        example=_NEW_EXAMPLE,
    )
    def post(self, request: Request) -> HttpResponse:
        """The secret is in this answer and nowhere else."""
        asked = self.read(NewTokenInput)
        token, secret = tokens.create(
            actor=self.actor,
            organization=organization_of(self.actor),
            name=asked.name,
            scopes=asked.scopes,
            expires_at=asked.expires_at,
            now=self.moment,
        )
        return _made(self, token, secret)


class Token(Endpoint):
    @route(permission=AUTHENTICATED, verb="token.viewed")
    @shape(summary="Show one of your tokens", output=TokenOutput, example=_EXAMPLE)
    def get(self, request: Request, token_id: UUID) -> HttpResponse:
        found = tokens_of(self.actor, now=self.moment).filter(pk=token_id).values(*TOKEN_COLUMNS).first()
        if found is None:
            raise NotFound("token", token_id)
        return self.answer(found)

    @route(permission=AUTHENTICATED, verb="token.revoked")
    @shape(summary="Revoke a token", output=None, status=204)
    def delete(self, request: Request, token_id: UUID) -> HttpResponse:
        """It stops working at once. One's own, or a service account's for who manages these."""
        tokens.revoke(actor=self.actor, token_id=token_id, now=self.moment)
        return self.nothing()


class TokenRotate(Endpoint):
    @route(permission=AUTHENTICATED, verb="token.rotated")
    @shape(summary="Rotate a token", input=RotationInput, output=NewTokenOutput, status=201, example=_NEW_EXAMPLE)
    def post(self, request: Request, token_id: UUID) -> HttpResponse:
        """A new token with the name, scopes and span of this one, which dies at once or after the overlap."""
        asked = self.read(RotationInput)
        token, secret = tokens.rotate(
            actor=self.actor,
            token_id=token_id,
            overlap=timedelta(seconds=asked.overlap_seconds),
            now=self.moment,
        )
        return _made(self, token, secret)


class ServiceAccountTokens(Endpoint):
    @route(permission=Permission.MANAGE_SERVICE_ACCOUNTS, verb="token.listed")
    @shape(summary="List the tokens of a service account", output=TokenOutput, listed=True, example=_EXAMPLE)
    def get(self, request: Request, account_id: UUID) -> HttpResponse:
        account = account_by_id(self.actor, account_id)
        authorize(self.actor, Permission.MANAGE_SERVICE_ACCOUNTS, organization_of(self.actor))
        return self.page(tokens_of_account(account, now=self.moment).values(*TOKEN_COLUMNS), list)

    @route(permission=Permission.MANAGE_SERVICE_ACCOUNTS, verb="token.created")
    @shape(
        summary="Make a token for a service account",
        input=NewTokenInput,
        output=NewTokenOutput,
        status=201,
        refuses=True,
        example=_NEW_EXAMPLE,
    )
    def post(self, request: Request, account_id: UUID) -> HttpResponse:
        """It reaches as far as the account's roles, within its scopes. The secret is in this answer alone."""
        asked = self.read(NewTokenInput)
        token, secret = tokens.create_for_account(
            actor=self.actor,
            account_id=account_id,
            name=asked.name,
            scopes=asked.scopes,
            expires_at=asked.expires_at,
            now=self.moment,
        )
        return _made(self, token, secret)


def _made(endpoint: Endpoint, token: AccessToken, secret: str) -> HttpResponse:
    body = {name: getattr(token, name) for name in TOKEN_COLUMNS}
    return endpoint.created({**body, "secret": secret}, location=f"/api/v1/tokens/{token.pk}", secrets=("secret",))
