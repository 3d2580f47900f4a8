"""Domain errors as pages in the house's voice."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from core.errors import Invalid, Refused, SteelyardError
from core.refusals import note
from portal.api.problems import status_of


def page_of_error(request: HttpRequest, error: Exception) -> HttpResponse | None:
    """The page for an error that a view let through; None for what is not the person's to know."""
    if not isinstance(error, SteelyardError):
        return None
    note(request, error)
    status = status_of(error)
    template = f"{status}.html" if status in (403, 404) else "refused.html"
    context = {"sentences": _sentences(error), "status": status, "back": _page_before(request)}
    return render(request, template, context, status=status)


def _sentences(error: SteelyardError) -> list[str]:
    """Every reason, and whom to ask."""
    if isinstance(error, Invalid):
        return [each.message for each in error.errors]
    if not isinstance(error, Refused):
        return [error.message]
    asks = sorted({reason.ask for reason in error.reasons if reason.ask})
    return [*(reason.message for reason in error.reasons), *(f"Ask {ask}." for ask in asks)]


def _page_before(request: HttpRequest) -> str:
    """The page whose button led here, if it is ours."""
    before = request.headers.get("Referer", "")
    ours = url_has_allowed_host_and_scheme(before, allowed_hosts={request.get_host()})
    return before if ours else reverse("home")
