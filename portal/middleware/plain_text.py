"""Text that PostgreSQL cannot hold is refused at the door: no address and no page's query has a NUL in it.

The API checks its own query fields, and names the one that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse

from portal.api.unknown import API, bad_request

_NUL = "\0"


class PlainTextMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        queried = "%00" in request.META.get("QUERY_STRING", "") and not request.path_info.startswith(API)
        if _NUL in request.path_info or queried:
            return bad_request(request, BadRequest("An address has no NUL in it."))
        return self._get_response(request)
