"""Organisations: founded by the installation, changed by those who lead them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID
from zoneinfo import available_timezones

from django.db import IntegrityError, transaction

from core import audit, scope
from core.errors import FieldError, Invalid, NotFound
from core.ids import uuid7
from core.names import fault_in_name
from core.types import Actor, Json
from tenants.enums import Permission, PlatformPermission
from tenants.models import Organization, Project
from tenants.permissions import authorize, authorize_platform
from tenants.services import names, projects
from tenants.services.projects import ProjectFacts
from tenants.services.standing import refuse_closed

_CURRENCY = re.compile(r"[A-Z]{3}")
CHANGEABLE = frozenset({"name", "time_zone"})


def found_organization(
    *, actor: Actor, slug: str, name: str, currency: str, time_zone: str, now: datetime
) -> Organization:
    """A new tenant, founded by the platform. Opens its scope, since nothing of it exists before.

    Raises Invalid, also for a slug that any organisation ever had.
    """
    authorize_platform(actor, PlatformPermission.MANAGE_TENANTS)
    _check({"name": name, "time_zone": time_zone, "currency": currency})
    names.check_slug(slug)
    organization = Organization(
        pk=uuid7(), slug=slug, name=name.strip(), currency=currency, time_zone=time_zone, created_at=now
    )
    with scope.of_organization(organization.pk):
        _insert(organization)
        names.claim(organization_id=organization.pk, name=slug, now=now)
        audit.record(actor, "organization.founded", organization.ref, now=now, after={"slug": slug})
    return organization


def _insert(organization: Organization) -> None:
    try:
        with transaction.atomic():
            organization.save(force_insert=True)
    except IntegrityError as error:
        taken = FieldError("slug", "taken", f"{organization.slug} is taken. Choose another.")
        raise Invalid([taken]) from error


@transaction.atomic
def create_project(
    *,
    actor: Actor,
    organization: Organization,
    slug: str,
    name: str,
    environment: str,
    data_class: str,
    cost_centre: str,
    now: datetime,
) -> Project:
    """A project that the installation makes; people make theirs by `projects.create`. Its quotas are the caller's."""
    names.check_slug(slug)
    facts = ProjectFacts(name=name, environment=environment, data_class=data_class, cost_centre=cost_centre)
    project = projects.write(organization=organization, slug=slug, facts=facts, team=None, now=now)
    audit.record(actor, "project.created", project.ref, now=now, after={"slug": slug})
    return project


@transaction.atomic
def change(
    *,
    actor: Actor,
    organization_id: UUID,
    changes: Mapping[str, str],
    now: datetime,
    expected_version: int | None = None,
) -> Organization:
    """Change its name or time zone. Its slug and currency are fixed: things outside and ledgers rest on them.

    A new time zone cuts the months after the one that is under way.
    """
    found = (
        Organization.objects.filter(pk=organization_id).first() if organization_id == actor.organization_id else None
    )
    if found is None:
        raise NotFound("organization", organization_id)
    authorize(actor, Permission.MANAGE_ORGANIZATION, found)
    row = Organization.objects.select_for_update().get(pk=organization_id)
    refuse_closed(row)
    if expected_version is not None and row.version != expected_version:
        raise projects.stale("organisation")
    wanted = {name: value.strip() for name, value in changes.items() if name in CHANGEABLE}
    _check(wanted)
    before: dict[str, Json] = {name: getattr(row, name) for name in sorted(wanted)}
    for name, value in wanted.items():
        setattr(row, name, value)
    row.version += 1
    row.save(update_fields=[*wanted, "version"])
    audit.record(actor, "organization.changed", row.ref, now=now, before=before, after=dict(wanted))
    return row


def _check(wanted: Mapping[str, str]) -> None:
    errors = []
    name, zone = wanted.get("name"), wanted.get("time_zone")
    fault = fault_in_name("name", name, most=120) if name is not None else None
    if fault is not None:
        errors.append(fault)
    if zone is not None and zone not in available_timezones():
        errors.append(FieldError("time_zone", "unknown", "Name a time zone, such as Europe/Berlin."))
    if "currency" in wanted and _CURRENCY.fullmatch(wanted["currency"]) is None:
        errors.append(FieldError("currency", "malformed", "Name a currency by its three letters, such as EUR."))
    if errors:
        raise Invalid(errors)
