"""The words of billing, as they stand in the database and the API."""

from __future__ import annotations

from django.db import models


class SkuKind(models.TextChoices):
    """How a SKU's quantity comes about: held over time, or counted one by one."""

    SESSION = "session"
    EVENT = "event"


class Unit(models.TextChoices):
    """What one unit price pays for. `hour`: one device for an hour; `gib_hour`: one GiB for an hour."""

    HOUR = "hour"
    GIB_HOUR = "gib_hour"
    EACH = "each"


class Component(models.TextChoices):
    """The part of a workload that a usage session weighs."""

    ACCELERATOR = "accelerator"
    COMPUTE = "compute"
    DISK = "disk"


class PeriodState(models.TextChoices):
    OPEN = "open"
    CLOSED = "closed"


class CostGroup(models.TextChoices):
    """What costs can be summed by."""

    ORGANIZATION = "organization"
    PROJECT = "project"
    USER = "user"
    WORKLOAD = "workload"
