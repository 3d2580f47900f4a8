"""The words of tenancy, as they stand in the database and the API."""

from __future__ import annotations

from enum import StrEnum

from django.db import models


class Role(models.TextChoices):
    OWNER = "owner"
    ADMIN = "admin"
    BILLING = "billing"
    AUDITOR = "auditor"
    PROJECT_ADMIN = "project_admin"
    DEVELOPER = "developer"
    VIEWER = "viewer"


class Origin(models.TextChoices):
    """Where a membership comes from: somebody granted it, or the organisation's identity provider says so."""

    GRANTED = "granted"
    SSO = "sso"


class PrincipalKind(models.TextChoices):
    PERSON = "person"
    SERVICE = "service"


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
    CLOSED = "closed"


class Resource(models.TextChoices):
    """What a quota counts. A quota on one accelerator model is named `accelerators/<model>`."""

    WORKLOADS = "workloads"
    ACCELERATORS = "accelerators"
    VCPUS = "vcpus"
    MEMORY_GIB = "memory_gib"
    STORAGE_GIB = "storage_gib"
    TOKENS_PER_MINUTE = "tokens_per_minute"


class QuotaLevel(models.TextChoices):
    """What a quota stands on, in the order in which quotas are locked."""

    ORGANIZATION = "organization"
    TEAM = "team"
    PROJECT = "project"
    USER = "user"


class Permission(models.TextChoices):
    VIEW_ORGANIZATION = "view_organization"
    MANAGE_ORGANIZATION = "manage_organization"
    TRANSFER_ORGANIZATION = "transfer_organization"
    CLOSE_ORGANIZATION = "close_organization"
    VIEW_MEMBERS = "view_members"
    MANAGE_MEMBERS = "manage_members"
    MANAGE_SERVICE_ACCOUNTS = "manage_service_accounts"
    MANAGE_SIGN_IN = "manage_sign_in"
    VIEW_TEAM = "view_team"
    MANAGE_TEAM = "manage_team"
    VIEW_PROJECT = "view_project"
    CREATE_PROJECT = "create_project"
    MANAGE_PROJECT = "manage_project"
    VIEW_QUOTA = "view_quota"
    REQUEST_QUOTA = "request_quota"
    MANAGE_QUOTA = "manage_quota"
    VIEW_POLICY = "view_policy"
    MANAGE_POLICY = "manage_policy"
    VIEW_APPROVAL = "view_approval"
    DECIDE_APPROVAL = "decide_approval"
    VIEW_WORKLOAD = "view_workload"
    LAUNCH_WORKLOAD = "launch_workload"
    OPERATE_WORKLOAD = "operate_workload"
    VIEW_USAGE = "view_usage"
    VIEW_INVOICE = "view_invoice"
    MANAGE_BILLING = "manage_billing"
    VIEW_AUDIT = "view_audit"
    MANAGE_AUDIT = "manage_audit"


class PlatformPermission(models.TextChoices):
    """What the platform's own people may do across organisations. They never open secrets."""

    VIEW_TENANTS = "view_tenants"
    MANAGE_TENANTS = "manage_tenants"
    VIEW_PLATFORM_AUDIT = "view_platform_audit"
    MANAGE_CATALOGUE = "manage_catalogue"
    MANAGE_PRICES = "manage_prices"
    MANAGE_INVOICES = "manage_invoices"
    MANAGE_PLATFORM_POLICY = "manage_platform_policy"
    MANAGE_TENANT_QUOTA = "manage_tenant_quota"
    DECIDE_PLATFORM_APPROVAL = "decide_platform_approval"
    OPERATE_FLEET = "operate_fleet"
    IMPERSONATE = "impersonate"


class ApprovalKind(models.TextChoices):
    """What can be asked for. Each kind's consequence stands in `tenants.services.approval_effects`."""

    LAUNCH = "launch"
    QUOTA = "quota"
    PRICE = "price"
    CREDIT = "credit"
    MOVE = "move"


class ApprovalState(models.TextChoices):
    """`voided`: what was asked changed or went, or the asker took it back."""

    OPEN = "open"
    APPROVED = "approved"
    REFUSED = "refused"
    EXPIRED = "expired"
    VOIDED = "voided"


class Decider(models.TextChoices):
    """Whose people decide: the organisation's, on the place of the request, or the platform's."""

    ORGANIZATION = "organization"
    PLATFORM = "platform"


class Verdict(models.TextChoices):
    APPROVED = "approved"
    REFUSED = "refused"


class TaskName(StrEnum):
    CHECK_DOMAIN = "tenants.check_domain"
    RECHECK_DOMAINS = "tenants.recheck_domains"
    EXPIRE_APPROVALS = "tenants.expire_approvals"
    MAIL_INVITATION = "tenants.mail_invitation"
    SWEEP_INVITATIONS = "tenants.sweep_invitations"
    MAIL_LETTER = "tenants.mail_letter"
    SWEEP_LETTERS = "tenants.sweep_letters"
    SWEEP_GRANTS = "tenants.sweep_grants"


class PolicyKind(models.TextChoices):
    """What a rule is about. Each kind's terms stand in `tenants.policy_rules.terms`."""

    REGIONS = "regions", "Allowed regions by data class"
    IMAGES = "images", "Allowed images"
    ACCELERATORS = "accelerators", "Allowed accelerators"
    CAPACITY_KINDS = "capacity_kinds", "Allowed kinds of capacity"
    MAX_LIFETIME = "max_lifetime", "Longest life"
    IDLE_STOP = "idle_stop", "Stop when idle"
    APPROVAL_ABOVE = "approval_above", "Approval above a size or price"
    PUBLIC_ENDPOINTS = "public_endpoints", "Public endpoints"
    EGRESS = "egress", "Allowed destinations"
    REQUIRED_LABELS = "required_labels", "Required labels"
    CHANGE_APPROVAL = "change_approval", "Approval of changes to quota, price or credit"


class PolicyMode(models.TextChoices):
    """`observe`: say what it would have done, and do nothing."""

    OFF = "off"
    OBSERVE = "observe"
    ENFORCE = "enforce"


class PolicyOrigin(models.TextChoices):
    """Who set a rule. The platform's stand above the organisation's, which can only tighten."""

    PLATFORM = "platform"
    ORGANIZATION = "organization"


class ChangeKind(models.TextChoices):
    QUOTA = "quota"
    PRICE = "price"
    CREDIT = "credit"
