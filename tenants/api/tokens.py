"""Personal access tokens: always one's own."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import NotFound
from core.routes import AUTHENTICATED, route
from tenants.api.inputs import NewTokenInput
from tenants.api.outputs import TOKEN_COLUMNS, NewTokenOutput, TokenOutput
from tenants.selectors import organization_of, tokens_of
from tenants.services import tokens

_EXAMPLE = {
    "id": "0199aa00-0000-7000-8000-000000000001",
    "name": "laptop",
    "prefix": "sty_ab12cd",
    "scopes": ["view_workload"],
    "created_at": "2026-11-30T18:00:00Z",
    "expires_at": None,
    "last_used_at": None,
}


class Tokens(Endpoint):
    @route(permission=AUTHENTICATED, verb="token.listed")
    @shape(summary="List your tokens", output=TokenOutput, listed=True, example=_EXAMPLE)
    def get(self, request: Request) -> HttpResponse:
        return self.page(tokens_of(self.actor).values(*TOKEN_COLUMNS), list)

    @route(permission=AUTHENTICATED, verb="token.created")
    @shape(
        summary="Make a token",
        input=NewTokenInput,
        output=NewTokenOutput,
        status=201,
        example={**_EXAMPLE, "secret": "sty_…"},
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
        body = {name: getattr(token, name) for name in TOKEN_COLUMNS}
        return self.created({**body, "secret": secret}, location=f"/api/v1/tokens/{token.pk}", secrets=("secret",))


class Token(Endpoint):
    @route(permission=AUTHENTICATED, verb="token.viewed")
    @shape(summary="Show one of your tokens", output=TokenOutput, example=_EXAMPLE)
    def get(self, request: Request, token_id: UUID) -> HttpResponse:
        found = tokens_of(self.actor).filter(pk=token_id).values(*TOKEN_COLUMNS).first()
        if found is None:
            raise NotFound("token", token_id)
        return self.answer(found)

    @route(permission=AUTHENTICATED, verb="token.revoked")
    @shape(summary="Revoke a token", output=None, status=204)
    def delete(self, request: Request, token_id: UUID) -> HttpResponse:
        """It stops working at once."""
        tokens.revoke(actor=self.actor, token_id=token_id, now=self.moment)
        return self.nothing()
