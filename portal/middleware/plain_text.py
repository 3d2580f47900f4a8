"""Text that PostgreSQL cannot hold is refused at the door: no address, no page's query and no form has a NUL in it.

The API checks its own fields, and names the one that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse

from portal.api.unknown import API, bad_request

_NUL = "\0"
_FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})


class PlainTextMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        of_api = request.path_info.startswith(API)
        queried = "%00" in request.META.get("QUERY_STRING", "") and not of_api
        if _NUL in request.path_info or queried:
            return bad_request(request, BadRequest("An address has no NUL in it."))
        if not of_api and _has_nul(request):
            return bad_request(request, BadRequest("A form has no NUL in it."))
        return self._get_response(request)


def _has_nul(request: HttpRequest) -> bool:
    """Of whatever the form is made of: its fields' names and values, and its files' names."""
    if request.method != "POST" or request.content_type not in _FORMS:
        return False
    words = [word for name, values in request.POST.lists() for word in (name, *values)]
    words += [word for name, files in request.FILES.lists() for word in (name, *(file.name or "" for file in files))]
    return any(_NUL in word for word in words)
