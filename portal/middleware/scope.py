"""One request, one act, one scope: opened here, rolled back on any answer of 400 or more, its refusal chained after."""

from __future__ import annotations

from collections.abc import Callable
from zoneinfo import ZoneInfo

import structlog
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.utils import timezone

from core import acts, audit, scope
from core.models import Outcome
from core.refusals import Refusal, noted
from core.routes import Route, declared
from core.types import ANONYMOUS, Actor, ObjectRef, Reason
from portal.identity import Claimed, actor_of, claim
from portal.middleware import closed, door
from portal.web.problems import page_of_error

log = structlog.get_logger(__name__)
_UNDECLARED = Route(permission="", verb="request")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class ScopeMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        route = _route_of(request)
        request.actor = ANONYMOUS  # type: ignore[attr-defined]
        with acts.begin(_source_of(request)):
            try:
                response = self._respond(request, route)
            except Exception:  # the commit itself failed: a constraint or a guard that looks at its end
                self._chain_refusal(request, route, HttpResponse(status=500))
                raise
            self._chain_refusal(request, route, response)
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., object], _args: object, _words: object
    ) -> HttpResponse | None:
        return door.refusal(request, view) or closed.refusal(request, view)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return page_of_error(request, error)

    def _respond(self, request: HttpRequest, route: Route) -> HttpResponse:
        claimed = claim(request)
        if claimed.organization_id is None or not route.scoped:
            return self._without_scope(request, claimed)
        with scope.of_organization(claimed.organization_id, user_id=claimed.user_id):
            request.actor = actor_of(request, claimed, now=timezone.now())  # type: ignore[attr-defined]
            with timezone.override(_zone_of(request)):
                response = self._get_response(request)
            if response.status_code >= 400:
                transaction.set_rollback(True)
        return response

    def _without_scope(self, request: HttpRequest, claimed: Claimed) -> HttpResponse:
        if claimed.organization_id is not None:
            with scope.of_organization(claimed.organization_id, user_id=claimed.user_id):
                request.actor = actor_of(request, claimed, now=timezone.now())  # type: ignore[attr-defined]
        elif claimed.user_id is not None:
            request.actor = actor_of(request, claimed, now=timezone.now())  # type: ignore[attr-defined]
        return self._get_response(request)

    def _chain_refusal(self, request: HttpRequest, route: Route, response: HttpResponse) -> None:
        actor: Actor = request.actor  # type: ignore[attr-defined]
        refusal = noted(request) or _crash(request, response)
        if refusal is None or (actor.organization_id is None and not actor.platform_role):
            return
        audit.record_refusal(
            actor, route.verb, refusal.ref, outcome=refusal.outcome, reason=refusal.reason, now=timezone.now()
        )


def _route_of(request: HttpRequest) -> Route:
    try:
        match = resolve(request.path_info)
    except Resolver404:
        return _UNDECLARED
    return declared(match.func, request.method or "GET") or _UNDECLARED


def _source_of(request: HttpRequest) -> acts.Source:
    kind = acts.SourceKind.API if request.path_info.startswith("/api/") else acts.SourceKind.PORTAL
    return acts.Source(
        kind=kind,
        address=request.META.get("REMOTE_ADDR", ""),
        request_id=request.request_id,  # type: ignore[attr-defined]
    )


def _zone_of(request: HttpRequest) -> ZoneInfo:
    """Pages show times where the person is; the API answers in UTC whoever asks."""
    return ZoneInfo(getattr(request.user, "time_zone", "UTC"))


def _crash(request: HttpRequest, response: HttpResponse) -> Refusal | None:
    if response.status_code < 500 or request.method in _SAFE:
        return None
    reason = Reason(code="crashed", message="The act failed inside the platform. Nothing of it was kept.")
    return Refusal(ObjectRef(kind="request", id=request.path_info[:200]), Outcome.FAILED, reason)
