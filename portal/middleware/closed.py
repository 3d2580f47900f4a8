"""What a closed organisation still takes: it is read, and no request changes anything in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from django.http import HttpRequest, HttpResponse

from core import refusals, scope
from core.errors import Refused
from core.routes import ANONYMOUS, declared
from core.types import Actor
from portal.api.problems import of_domain_error
from portal.identity import ENDS_IMPERSONATION
from portal.web.problems import page_of_error
from tenants.enums import PlatformPermission
from tenants.selectors import organization_of
from tenants.services.standing import refuse_closed

_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
STILL_TAKEN = frozenset(
    {"organization.switched", "project.switched", "token.revoked", ENDS_IMPERSONATION, "person.erased"}
)
"""Where one looks, and the end of what one holds and of oneself. Signing out is the account's own."""


def refusal(request: HttpRequest, view: Callable[..., object]) -> HttpResponse | None:
    """The answer to a write in a closed organisation, whatever it asks for; None for what may go on.

    Acts of the console are about an organisation that their address names: `portal.web.console.frame.inside` asks.
    """
    route = declared(view, request.method or "GET")
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if request.method in _SAFE or route is None or actor.organization_id is None or route.verb in STILL_TAKEN:
        return None
    if route.permission == ANONYMOUS or route.permission in PlatformPermission.values:
        return None
    try:
        with scope.of_organization(actor.organization_id) if scope.current() is None else nullcontext():
            refuse_closed(organization_of(actor))
    except Refused as error:
        if not request.path_info.startswith("/api/"):
            return page_of_error(request, error)
        refusals.note(request, error)
        return of_domain_error(request, error)
    return None
