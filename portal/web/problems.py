"""Domain errors as pages in the house's voice."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from core.errors import Refused, SteelyardError
from core.refusals import note
from portal.api.problems import status_of


def page_of_error(request: HttpRequest, error: Exception) -> HttpResponse | None:
    """The page for an error that a view let through; None for what is not the person's to know."""
    if not isinstance(error, SteelyardError):
        return None
    note(request, error)
    status = status_of(error)
    reasons = error.reasons if isinstance(error, Refused) else ()
    template = f"{status}.html" if status in (403, 404) else "400.html"
    return render(request, template, {"error": error, "reasons": reasons, "status": status}, status=status)
