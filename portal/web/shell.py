"""What the frame of every page shows: the person, where they are, and where they can go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from core import scope
from core.types import ANONYMOUS, Actor
from portal.identity import SESSION_PROJECT
from provisioning.services.caveats import caveats
from tenants.enums import Permission, Standing
from tenants.permissions import permissions_on, platform_permissions_on
from tenants.selectors import organization_of, organizations_of_user, projects_with
from tenants.selectors.approvals import count_waiting_for

if TYPE_CHECKING:
    from tenants.models import Organization


@dataclass(frozen=True, slots=True)
class Place:
    """An organisation or a project in the switcher."""

    name: str
    slug: str
    switch_url: str


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    initials: str
    email: str


@dataclass(frozen=True, slots=True)
class Item:
    label: str
    url: str
    current: bool
    icon: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Acting:
    """For whom the person acts, and until when."""

    name: str
    until: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Shell:
    person: Person
    organization: Place | None
    organizations: tuple[Place, ...]
    project: Place | None
    projects: tuple[Place, ...]
    navigation: tuple[Section, ...]
    notice: str = ""
    acting: Acting | None = None


def shell(request: HttpRequest) -> dict[str, object]:
    """The context of `app.html`; empty for visitors and for people without an organisation."""
    actor: Actor = getattr(request, "actor", ANONYMOUS)
    current = scope.current()
    if current is None or current.organization_id != actor.organization_id or not request.user.is_authenticated:
        return {"shell": None}
    organization = organization_of(actor)
    projects = tuple(
        Place(project.name, project.slug, reverse("switch-project", args=[project.slug]))
        for project in projects_with(actor, Permission.VIEW_PROJECT)
    )
    chosen = request.session.get(SESSION_PROJECT)
    person = request.user
    return {
        "shell": Shell(
            person=Person(person.full_name or person.email, person.initials, person.email),
            organization=_place(organization.name, organization.slug),
            organizations=tuple(_place(found.name, found.slug) for found in _homes(actor)),
            project=next((place for place in projects if place.slug == chosen), projects[0] if projects else None),
            projects=projects,
            navigation=_navigation(
                request.path,
                permissions_on(actor, organization),
                works=bool(projects),
                governs=bool(platform_permissions_on(actor)),
                waiting=count_waiting_for(actor, now=timezone.now()),
            ),
            notice=" ".join([*_standing(organization), *caveats()]),
            acting=_acting(request),
        )
    }


def _homes(actor: Actor) -> list[Organization]:
    """Where the switcher leads: nowhere else for who acts for another, or was let in by an organisation's provider."""
    return [] if actor.operator_id or actor.bound else organizations_of_user(actor.person_id)


def _acting(request: HttpRequest) -> Acting | None:
    row = getattr(request, "impersonation", None)
    return Acting(row.person.full_name or row.person.email, row.ends_at, row.reason) if row else None


def _standing(organization: Organization) -> list[str]:
    """What everybody here has to know before they try: nothing new starts."""
    if organization.standing == Standing.SUSPENDED:
        return [
            f"{organization.name} is suspended: {organization.standing_reason} Nothing new starts; what runs goes on."
        ]
    return [f"{organization.name} is closed."] if organization.standing == Standing.CLOSED else []


def _place(name: str, slug: str) -> Place:
    return Place(name, slug, reverse("switch-organization", args=[slug]))


def _navigation(
    path: str, held: frozenset[Permission], *, works: bool, governs: bool, waiting: int
) -> tuple[Section, ...]:
    money = [("Usage", "usage", "chart-column", works)]
    money.append(("Invoices", "invoices", "", Permission.VIEW_INVOICE in held))
    money.append(("Draft invoice", "invoice-draft", "", Permission.VIEW_INVOICE in held))
    sections = (
        (
            "Work",
            [
                ("Home", "home", "house", True),
                ("Workloads", "workloads", "square-terminal", works),
                ("Disks", "volumes", "", works),
            ],
        ),
        ("Money", money),
        (
            "Organisation",
            [
                ("Members", "members", "", Permission.VIEW_MEMBERS in held),
                ("Teams", "teams", "", Permission.VIEW_TEAM in held),
                ("Projects", "projects", "", works or Permission.CREATE_PROJECT in held),
                ("Service accounts", "service-accounts", "", Permission.MANAGE_SERVICE_ACCOUNTS in held),
                ("Roles", "roles", "", True),
                ("Quotas", "quotas", "gauge", works),
                ("Approvals", "approvals", "", works),
                ("Policies", "policies", "", works),
                ("Audit", "audit", "", Permission.VIEW_AUDIT in held),
                ("Sign-in", "sign-in", "", Permission.MANAGE_SIGN_IN in held),
                ("Access tokens", "tokens", "", True),
                ("Settings", "organization", "", True),
            ],
        ),
        ("Platform", [("Console", "console-tenants", "", governs)]),
    )
    return tuple(
        Section(
            title,
            tuple(
                _item(path, label, name, icon, waiting if name == "approvals" else 0)
                for label, name, icon, shown in items
                if shown
            ),
        )
        for title, items in sections
        if any(shown for *_, shown in items)
    )


def _item(path: str, label: str, name: str, icon: str, count: int) -> Item:
    url = reverse(name)
    current = path == url if url == "/" else path.startswith(url)
    return Item(label, url, current, icon, count)
