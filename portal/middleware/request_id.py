"""One id per request, answered as `X-Request-Id`, so that a person can name what went wrong."""

from __future__ import annotations

import re
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse

from core.ids import uuid7

_ACCEPTED = re.compile(r"^[A-Za-z0-9._-]{8,64}$")


class RequestIdMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-Id", "")
        request_id = given if _ACCEPTED.match(given) else str(uuid7())
        request.request_id = request_id  # type: ignore[attr-defined]
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = self._get_response(request)
        response["X-Request-Id"] = request_id
        return response
