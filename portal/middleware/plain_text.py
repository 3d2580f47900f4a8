"""Text that PostgreSQL cannot hold is refused at the door: no address or query field has a NUL in it."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse

from portal.api.unknown import bad_request

_NUL = "\0"


class PlainTextMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if _NUL in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
            return bad_request(request, BadRequest("An address has no NUL in it."))
        return self._get_response(request)
