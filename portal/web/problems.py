"""Domain errors as pages in the house's voice."""

from __future__ import annotations

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from core.errors import Refused, SteelyardError
from core.refusals import note
from core.routes import ANONYMOUS, Route
from portal.api.problems import status_of


def way_in(request: HttpRequest, route: Route | None) -> HttpResponse | None:
    """Where a page sends one who acts in no organisation: to the door, and then back. None where it is for all."""
    if route is None or route.permission in ("", ANONYMOUS) or request.path_info.startswith("/api/"):
        return None
    if request.user.is_authenticated:
        return redirect("home")
    return redirect_to_login(request.get_full_path() if request.method in ("GET", "HEAD") else "/")


def page_of_error(request: HttpRequest, error: Exception) -> HttpResponse | None:
    """The page for an error that a view let through; None for what is not the person's to know."""
    if not isinstance(error, SteelyardError):
        return None
    note(request, error)
    status = status_of(error)
    reasons = error.reasons if isinstance(error, Refused) else ()
    template = f"{status}.html" if status in (403, 404) else "400.html"
    return render(request, template, {"error": error, "reasons": reasons, "status": status}, status=status)
