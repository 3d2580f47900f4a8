"""Who calls the API: the middleware has found the actor; here a wrong or missing credential becomes an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from core.routes import ANONYMOUS, Route
from core.types import Actor, ActorKind
from portal.identity import for_the_person_alone, is_for_the_person_alone

if TYPE_CHECKING:
    from rest_framework.views import APIView

_READS = frozenset({"GET", "HEAD"})


class ScopedAuthentication(BaseAuthentication):
    """Bearer token or the portal's session. Writes of a session need the CSRF token, those of a token do not."""

    def authenticate(self, request: Request) -> tuple[object, Actor] | None:
        asked = request._request
        actor: Actor = asked.actor  # type: ignore[attr-defined]
        if asked.headers.get("Authorization"):
            if actor.kind is ActorKind.ANONYMOUS:
                raise AuthenticationFailed("This token is not known, has ended or was revoked.", code="invalid_token")
            return asked.user, actor
        if actor.kind is ActorKind.ANONYMOUS:
            return None
        if request.method not in _READS:
            _check_csrf(asked)
        return asked.user, actor

    def authenticate_header(self, request: Request) -> str:
        challenge = 'Bearer realm="steelyard"'
        return f'{challenge}, error="invalid_token"' if request.headers.get("Authorization") else challenge


class HasActor(BasePermission):
    """Somebody is known, in an organisation, and the method declares its route. What is not declared is denied."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        handler = getattr(view, "get" if request.method == "HEAD" else (request.method or "").lower(), None)
        route: Route | None = getattr(handler, "route", None)
        if route is None:
            raise PermissionDenied("This route declares no permission, so nobody may use it.", code="undeclared_route")
        if route.permission == ANONYMOUS:
            return True
        actor: Actor = request._request.actor  # type: ignore[attr-defined]
        if actor.id is None:
            raise NotAuthenticated("Sign in, or send a token: Authorization: Bearer <token>.")
        if is_for_the_person_alone(actor, route, request.method or "GET"):
            raise for_the_person_alone(actor)
        if getattr(request._request, "awaits_second_factor", False):
            raise PermissionDenied(
                "The organisation asks for a second factor. Set one up in the portal, under your name.",
                code="second_factor_required",
            )
        if actor.organization_id is None and getattr(view, "needs_organization", True):
            raise PermissionDenied(
                "You belong to no organisation yet. Ask an owner to invite you.", code="no_organization"
            )
        return True


def _check_csrf(request: HttpRequest) -> None:
    check = CSRFCheck(lambda _: None)  # type: ignore[arg-type]
    check.process_request(request)
    reason = check.process_view(request, HttpResponse, (), {})
    if reason:
        raise PermissionDenied(
            "A write by session needs the CSRF token in X-CSRFToken. A script had better use a token.",
            code="csrf_failed",
        )
