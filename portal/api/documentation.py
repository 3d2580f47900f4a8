"""The API's description, for machines and for people."""

from __future__ import annotations

from functools import cache
from typing import cast

import orjson
from csp.constants import SELF, UNSAFE_INLINE
from csp.decorators import csp_replace
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

from core.routes import ANONYMOUS, route


@cache
def document() -> bytes:
    """OpenAPI 3.1 of every route that declares a shape, the same bytes for the same code."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    found = cast(dict[str, object], generator.get_schema(request=None, public=True))  # type: ignore[no-untyped-call]
    return orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


@require_safe
@route(permission=ANONYMOUS, verb="api_description.viewed", scoped=False)
def openapi(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(document(), content_type="application/json", headers={"Cache-Control": "public, max-age=300"})


@require_safe
@csp_replace({"style-src": [SELF, UNSAFE_INLINE]})
@route(permission=ANONYMOUS, verb="api_docs.viewed", scoped=False)
def docs(request: HttpRequest) -> HttpResponse:
    """Swagger UI of our own files. Its styles are inline; its scripts are not."""
    return render(request, "portal/api_docs.html", {"csrf_cookie": settings.CSRF_COOKIE_NAME})
