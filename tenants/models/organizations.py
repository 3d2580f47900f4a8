"""Organisations and their projects."""

from __future__ import annotations

from typing import ClassVar, Self

from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Length

from core.models import ScopedManager, TenantModel, UUIDModel
from core.types import ObjectRef
from tenants.enums import DataClass, Environment, Permission, Standing

models.CharField.register_lookup(Length)
SLUG = RegexValidator(r"^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?\Z", "Use 1 to 40 lower-case letters, digits and hyphens.")


class Organization(UUIDModel):
    """A tenant: the party that is kept apart, governed and billed."""

    slug = models.CharField(max_length=40, unique=True, validators=[SLUG])
    name = models.CharField(max_length=120)
    currency = models.CharField(max_length=3)
    time_zone = models.CharField(max_length=60)
    standing = models.CharField(max_length=12, choices=Standing.choices, default=Standing.GOOD)
    standing_reason = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
    mfa_required = models.BooleanField(default=False)
    version = models.PositiveIntegerField(default=1)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        permissions = [
            (permission.value, permission.label) for permission in Permission if permission != "view_organization"
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("organization", str(self.pk), self.slug)


class Team(TenantModel):
    """People who share projects: a role held on a team is held on each of its projects."""

    slug = models.CharField(max_length=40, validators=[SLUG])
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organization", "slug"], name="team_slug_once")]
        permissions = [(permission.value, permission.label) for permission in Permission if permission != "view_team"]

    def __str__(self) -> str:
        return self.slug

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("team", str(self.pk), self.slug)


class Project(TenantModel):
    """Where work is done: what quota, cost and permission refer to. A closed one takes no new work."""

    team = models.ForeignKey("tenants.Team", on_delete=models.PROTECT, null=True, related_name="projects")
    slug = models.CharField(max_length=40, validators=[SLUG])
    name = models.CharField(max_length=120)
    environment = models.CharField(max_length=10, choices=Environment.choices, default=Environment.DEVELOPMENT)
    data_class = models.CharField(max_length=15, choices=DataClass.choices, default=DataClass.INTERNAL)
    cost_centre = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organization", "slug"], name="project_slug_once")]
        permissions = [
            (permission.value, permission.label) for permission in Permission if permission != "view_project"
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("project", str(self.pk), self.slug)


class UsedName(TenantModel):
    """A name that stands outside the database (an organisation's slug, a namespace), for ever its first user's.

    Unique across organisations: what once meant one tenant's things never means another's.
    """

    name = models.CharField(max_length=90, unique=True)
    used_from = models.DateTimeField()

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("name", str(self.pk), self.name)
