"""The words of tenancy, as they stand in the database and the API."""

from __future__ import annotations

from django.db import models


class Role(models.TextChoices):
    OWNER = "owner"
    ADMIN = "admin"
    BILLING = "billing"
    AUDITOR = "auditor"
    PROJECT_ADMIN = "project_admin"
    DEVELOPER = "developer"
    VIEWER = "viewer"


class PlatformRole(models.TextChoices):
    ADMIN = "platform_admin"
    OPERATOR = "platform_operator"
    AUDITOR = "platform_auditor"


class Environment(models.TextChoices):
    DEVELOPMENT = "dev"
    STAGING = "staging"
    PRODUCTION = "prod"


class DataClass(models.TextChoices):
    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    RESTRICTED = "restricted"


class Standing(models.TextChoices):
    GOOD = "good"
    SUSPENDED = "suspended"


class Resource(models.TextChoices):
    """What a quota counts. A quota on one accelerator model is named `accelerators/<model>`."""

    WORKLOADS = "workloads"
    ACCELERATORS = "accelerators"
    VCPUS = "vcpus"
    MEMORY_GIB = "memory_gib"
    STORAGE_GIB = "storage_gib"


class Permission(models.TextChoices):
    VIEW_ORGANIZATION = "view_organization"
    VIEW_MEMBERS = "view_members"
    VIEW_PROJECT = "view_project"
    VIEW_QUOTA = "view_quota"
    MANAGE_QUOTA = "manage_quota"
    VIEW_WORKLOAD = "view_workload"
    LAUNCH_WORKLOAD = "launch_workload"
    OPERATE_WORKLOAD = "operate_workload"
    VIEW_USAGE = "view_usage"
    VIEW_INVOICE = "view_invoice"
    VIEW_AUDIT = "view_audit"
