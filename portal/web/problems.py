"""Domain errors as pages in the house's voice."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from core.errors import Conflict, Forbidden, Invalid, NotFound, Refused, Stale, SteelyardError
from core.refusals import note

_STATUS: tuple[tuple[type[SteelyardError], int], ...] = (
    (NotFound, 404),
    (Forbidden, 403),
    (Invalid, 400),
    (Stale, 412),
    (Refused, 409),
    (Conflict, 409),
)


def page_of_error(request: HttpRequest, error: Exception) -> HttpResponse | None:
    """The page for an error that a view let through; None for what is not the person's to know."""
    if not isinstance(error, SteelyardError):
        return None
    note(request, error)
    status = next((number for kind, number in _STATUS if isinstance(error, kind)), 400)
    reasons = error.reasons if isinstance(error, Refused) else ()
    template = f"{status}.html" if status in (403, 404) else "400.html"
    return render(request, template, {"error": error, "reasons": reasons, "status": status}, status=status)
