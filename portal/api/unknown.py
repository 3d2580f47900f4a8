"""Addresses of the API where nothing is, and answers for what fails outside any endpoint."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt

from core.routes import ANONYMOUS, route
from portal.api.problems import problem

API = "/api/"


@csrf_exempt
@route(permission=ANONYMOUS, verb="api.unknown_address", scoped=False)
def unknown(request: HttpRequest) -> HttpResponse:
    return problem(request, 404, "not_found", "There is nothing at this address.")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path.startswith(API):
        return problem(request, 400, "malformed", "The request cannot be understood.")
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path.startswith(API):
        return problem(request, 403, "permission_denied", "This is not yours to do.")
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path.startswith(API):
        return problem(request, 404, "not_found", "There is nothing at this address.")
    return defaults.page_not_found(request, exception)


def crashed(request: HttpRequest) -> HttpResponse:
    if request.path.startswith(API):
        detail = "Nothing of this request was kept. Tell us the id in `instance` if it happens again."
        return problem(request, 500, "crashed", detail)
    return defaults.server_error(request)
