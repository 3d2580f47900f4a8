"""Errors as RFC 9457 problem documents: the one table from domain error to HTTP status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

import structlog
from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.core.signals import got_request_exception
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions as drf
from rest_framework.request import Request

from core import refusals
from core.api.errors import TooLarge, TooManyRequests
from core.api.inputs import field_errors
from core.api.rendering import dumps
from core.errors import (
    Busy,
    Conflict,
    FieldError,
    Forbidden,
    Invalid,
    NotFound,
    Refused,
    Stale,
    SteelyardError,
)
from core.idempotency import KeyReused

PROBLEM = "application/problem+json"
log = structlog.get_logger(__name__)

STATUS: tuple[tuple[type[SteelyardError], int], ...] = (
    (NotFound, 404),
    (Forbidden, 403),
    (Invalid, 400),
    (Stale, 412),
    (KeyReused, 422),
    (TooLarge, 413),
    (TooManyRequests, 429),
    (Busy, 409),
    (Refused, 409),
    (Conflict, 409),
)
TITLES = {
    400: "The request cannot be understood",
    401: "Not signed in",
    403: "Not allowed",
    404: "Not found",
    405: "No such method here",
    406: "Not available in that form",
    409: "Not possible now",
    412: "Changed since you read it",
    413: "Too large",
    415: "Unknown media type",
    422: "Key used for another request",
    429: "Too many requests",
    500: "Something went wrong inside the platform",
    503: "Not available now",
}


class Answerable(Protocol):
    """What Django REST framework hands to an exception handler."""

    def get(self, name: str) -> object: ...


def answer(error: Exception, context: Answerable) -> HttpResponse:
    """The exception handler of the API. Denials are noted, so that the middleware chains one audit event."""
    request = cast(Request, context.get("request"))._request
    if isinstance(error, SteelyardError):
        refusals.note(request, error)
        return of_domain_error(request, error)
    if isinstance(error, drf.APIException):
        return _of_framework(request, error, context)
    if isinstance(error, Http404):
        return problem(request, 404, "not_found", "There is nothing at this address.")
    if isinstance(error, RequestDataTooBig):
        return problem(request, 413, "body_too_large", "The body is larger than the platform accepts.")
    if isinstance(error, DjangoPermissionDenied):
        return problem(request, 403, "permission_denied", str(error) or "This is not yours to do.")
    if isinstance(error, BadRequest | SuspiciousOperation):
        return problem(request, 400, "malformed", "The request cannot be understood.")
    return _crashed(request, error)


def status_of(error: SteelyardError) -> int:
    return next((status for kind, status in STATUS if isinstance(error, kind)), 400)


def of_domain_error(request: HttpRequest, error: SteelyardError) -> HttpResponse:
    more: dict[str, object] = {}
    headers: dict[str, str] = {}
    if isinstance(error, Invalid):
        more["errors"] = _errors(error.errors)
    if isinstance(error, Refused):
        more["reasons"] = [reason.as_json() for reason in error.reasons]
    if isinstance(error, Forbidden):
        more["permission"] = str(error.permission)
    if isinstance(error, Busy | TooManyRequests):
        headers["Retry-After"] = str(error.retry_after_seconds)
    return problem(request, status_of(error), error.code, error.message, more=more, headers=headers)


def problem(
    request: HttpRequest,
    status: int,
    code: str,
    detail: str,
    *,
    more: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """A problem document. `instance` is the request's id: name it when you ask for help."""
    body = {
        "type": f"urn:steelyard:problem:{code}",
        "title": TITLES.get(status, "Not possible"),
        "status": status,
        "detail": detail,
        "code": code,
        "instance": f"urn:steelyard:request:{getattr(request, 'request_id', '')}",
        **(more or {}),
    }
    return HttpResponse(dumps(body), status=status, content_type=PROBLEM, headers=dict(headers or {}))


def _of_framework(request: HttpRequest, error: drf.APIException, context: Answerable) -> HttpResponse:
    headers: dict[str, str] = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if isinstance(error, drf.MethodNotAllowed):
        methods: list[str] = getattr(context.get("view"), "allowed_methods", [])
        headers["Allow"] = ", ".join(sorted(methods))
    if isinstance(error, drf.ValidationError):
        errors = field_errors(error.detail)
        more = {"errors": _errors(errors)}
        return problem(request, 400, "invalid", " ".join(found.message for found in errors), more=more)
    code = getattr(error.detail, "code", None) or error.default_code
    if code == "parse_error":
        code = "malformed"
    if isinstance(error, drf.PermissionDenied):
        refusals.note(request, _Denied(str(error.detail), code=code))
    return problem(request, error.status_code, code, str(error.detail), headers=headers)


class _Denied(Conflict):
    """A denial by the API's own machinery (CSRF, no organisation), chained like any other."""


def _crashed(request: HttpRequest, error: Exception) -> HttpResponse:
    log.error("api_crashed", path=request.path, exc_info=error)
    got_request_exception.send(sender=answer, request=request)
    detail = "Nothing of this request was kept. Tell us the id in `instance` if it happens again."
    return problem(request, 500, "crashed", detail)


def _errors(errors: tuple[FieldError, ...] | list[FieldError]) -> list[dict[str, str]]:
    return [{"field": found.field, "code": found.code, "message": found.message} for found in errors]
