"""Organisations and projects: founding them."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from core import audit, scope
from core.ids import uuid7
from core.types import Actor
from tenants.models import Organization, Project


def found_organization(
    *, actor: Actor, slug: str, name: str, currency: str, time_zone: str, now: datetime
) -> Organization:
    """A new tenant. Opens its scope, since nothing of it exists before. The caller's act is the platform's."""
    organization = Organization(
        pk=uuid7(), slug=slug, name=name, currency=currency, time_zone=time_zone, created_at=now
    )
    with scope.of_organization(organization.pk):
        organization.save(force_insert=True)
        audit.record(actor, "organization.founded", organization.ref, now=now, after={"slug": slug})
    return organization


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
    project = Project.objects.create(
        organization=organization,
        slug=slug,
        name=name,
        environment=environment,
        data_class=data_class,
        cost_centre=cost_centre,
        created_at=now,
    )
    audit.record(actor, "project.created", project.ref, now=now, after={"slug": slug})
    return project
