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
SLUG = RegexValidator(r"^[a-z][a-z0-9-]{0,38}[a-z0-9]$", "Use 2 to 40 lower-case letters, digits and hyphens.")


class Organization(UUIDModel):
    """A tenant: the party that is kept apart, governed and billed."""

    slug = models.CharField(max_length=40, unique=True, validators=[SLUG])
    name = models.CharField(max_length=120)
    currency = models.CharField(max_length=3)
    time_zone = models.CharField(max_length=60)
    standing = models.CharField(max_length=12, choices=Standing.choices, default=Standing.GOOD)
    created_at = models.DateTimeField()
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


class Project(TenantModel):
    """Where work is done: what quota, cost and permission refer to."""

    slug = models.CharField(max_length=40, validators=[SLUG])
    name = models.CharField(max_length=120)
    environment = models.CharField(max_length=10, choices=Environment.choices, default=Environment.DEVELOPMENT)
    data_class = models.CharField(max_length=15, choices=DataClass.choices, default=DataClass.INTERNAL)
    cost_centre = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField()
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
