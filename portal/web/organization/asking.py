"""What these pages have in common: whom they serve, places and roles to choose from, errors shown at their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django import forms
from django.http import HttpRequest

from core.errors import Invalid, NotFound, Refused, SteelyardError
from core.refusals import note
from core.types import Actor
from portal.api.problems import status_of
from tenants.enums import Permission, Role
from tenants.permissions import holds
from tenants.selectors import organization_of, projects_with
from tenants.selectors.places import place_for, teams_visible_to

if TYPE_CHECKING:
    from tenants.models import Organization
    from tenants.permissions import Place

HERE = "organization"
_ON_ORGANIZATION = (Role.OWNER, Role.ADMIN, Role.BILLING, Role.AUDITOR)
_ON_PLACES = (Role.PROJECT_ADMIN, Role.DEVELOPER, Role.VIEWER)
Choice = tuple[str, str]


def asked(request: HttpRequest) -> tuple[Actor, Organization]:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor, organization_of(actor)


def role_choices() -> list[tuple[str, list[Choice]]]:
    """Every role, under what it is held on."""
    return [
        ("On a project or team", [(role.value, role.label) for role in reversed(_ON_PLACES)]),
        ("On the whole organisation", [(role.value, role.label) for role in reversed(_ON_ORGANIZATION)]),
    ]


def roles_for(kind: str) -> list[Choice]:
    """The roles that fit a place of this kind."""
    return [(role.value, role.label) for role in (_ON_ORGANIZATION if kind == "organization" else _ON_PLACES)]


def place_choices(actor: Actor, organization: Organization) -> list[tuple[str, str | list[Choice]]]:
    """The places whose members the actor manages, as `kind:id`. Projects first: most roles are held there."""
    everywhere = holds(actor, Permission.MANAGE_MEMBERS, organization)
    projects = projects_with(actor, Permission.MANAGE_PROJECT).filter(closed_at=None)
    groups: list[tuple[str, str | list[Choice]]] = []
    listed = [(f"project:{row.pk}", row.name) for row in projects]
    if listed:
        groups.append(("Projects", listed))
    if everywhere:
        teams = [(f"team:{row.pk}", row.name) for row in teams_visible_to(actor)]
        groups += [("Teams", teams)] if teams else []
        groups.append((f"organization:{organization.pk}", f"The whole of {organization.name}"))
    return groups


def place_of(actor: Actor, word: str) -> Place:
    """The place that `kind:id` names. Raises NotFound for what the actor cannot see."""
    kind, _, key = word.partition(":")
    return place_for(actor, kind, key)


def words_of(place: Place) -> str:
    """A place as a row names it."""
    return "Whole organisation" if place.ref.kind == HERE else place.name


def show(form: forms.Form, error: SteelyardError, request: HttpRequest) -> int:
    """Put a refusal into the form that asked, note it for the audit chain, and give the status of the answer."""
    if isinstance(error, NotFound):
        raise error
    if isinstance(error, Invalid):
        for each in error.errors:
            form.add_error(each.field if each.field in form.fields else None, each.message)
    elif isinstance(error, Refused):
        for reason in error.reasons:
            form.add_error(None, reason.message)
    else:
        form.add_error(None, error.message)
    return refused(request, error)


def refused(request: HttpRequest, error: SteelyardError) -> int:
    """Note a refusal that the page itself shows, and give the status of the answer."""
    note(request, error)
    return status_of(error)


def uuid_of(word: str) -> UUID | None:
    try:
        return UUID(word)
    except ValueError:
        return None
