"""The frame of the console: who may come in, in which scope a page reads and acts, and the way around.

Console routes are declared unscoped. A page that reads opens the platform's scope, one that acts on an organisation
opens that organisation's, so that the act stands in the chain of those whom it concerns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from core import audit, scope
from core.types import Actor, ObjectRef
from portal.web.shell import Item, Person, Section, Shell
from tenants.enums import PlatformPermission
from tenants.permissions import CONSOLE, authorize_platform, platform_permissions_on
from tenants.selectors import organization_by_id
from tenants.selectors.platform import tenant_by_slug
from tenants.services.standing import refuse_closed

if TYPE_CHECKING:
    from tenants.models import Organization

P = PlatformPermission
_PAGES = (
    ("Tenants", "console-tenants", "building-2", P.VIEW_TENANTS),
    ("People", "console-people", "", P.MANAGE_TENANTS),
    ("Clusters", "console-clusters", "", P.OPERATE_FLEET),
    ("Fleet", "console-fleet", "server", P.OPERATE_FLEET),
    ("Leaks", "console-leaks", "", P.OPERATE_FLEET),
    ("Approvals", "console-approvals", "stamp", P.DECIDE_PLATFORM_APPROVAL),
    ("Policies", "console-policies", "", P.MANAGE_PLATFORM_POLICY),
    ("Audit", "console-audit", "scroll-text", P.VIEW_PLATFORM_AUDIT),
    ("Isolation", "console-isolation", "shield-check", P.VIEW_PLATFORM_AUDIT),
)
"""Label, route, icon, permission; in the order of the navigation. On a phone, what has an icon is always at hand."""


@contextmanager
def across(
    request: HttpRequest, permission: PlatformPermission, verb: str, ref: ObjectRef | None = None
) -> Iterator[Actor]:
    """Authorise, open the platform's scope and record who looked across organisations, and at what."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    authorize_platform(actor, permission, ref or CONSOLE)
    with scope.of_platform():
        audit.record(actor, verb, ref or ObjectRef("console", request.path_info), now=timezone.now())
        yield actor


@contextmanager
def inside(
    request: HttpRequest, permission: PlatformPermission, organization_id: UUID, asked: ObjectRef = CONSOLE
) -> Iterator[Actor]:
    """Authorise and open one organisation's scope: for an act on it, which its own chain records.

    Raises Refused where the organisation is closed.
    """
    actor: Actor = request.actor  # type: ignore[attr-defined]
    authorize_platform(actor, permission, asked)
    with scope.of_organization(organization_id):
        refuse_closed(organization_by_id(organization_id))
        yield replace(actor, organization_id=organization_id)


def tenant_at(request: HttpRequest, permission: PlatformPermission, slug: str, asked: ObjectRef) -> Organization:
    """The organisation that an act is about, found across organisations after authorising. Raises NotFound."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    authorize_platform(actor, permission, asked)
    with scope.of_platform():
        return tenant_by_slug(slug)


def page(request: HttpRequest, template: str, context: dict[str, object], *, status: int = 200) -> HttpResponse:
    """Render a page of the console; what it shows has been read before, inside a scope."""
    return render(request, template, {**context, "shell": console_shell(request)}, status=status)


def _depth(name: str) -> int:
    """The page whose address says most of where one is."""
    return len(reverse(name))


def console_shell(request: HttpRequest) -> Shell:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    held = platform_permissions_on(actor)
    person = request.user
    here = max((name for _, name, _, _ in _PAGES if request.path.startswith(reverse(name))), key=_depth, default="")
    items = tuple(
        Item(label, reverse(name), name == here, icon) for label, name, icon, permission in _PAGES if permission in held
    )
    back = Item("Back to the portal", reverse("home"), current=False)
    return Shell(
        person=Person(person.full_name or person.email, person.initials, person.email),  # type: ignore[union-attr]
        organization=None,
        organizations=(),
        project=None,
        projects=(),
        navigation=(Section("Platform", items), Section("Portal", (back,))),
        notice="",
    )
