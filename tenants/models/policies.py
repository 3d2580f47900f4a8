"""Policies: typed rules, each with all the versions that it ever had."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from core.models import TenantModel, UUIDModel
from core.types import ObjectRef
from tenants.enums import PolicyKind, PolicyMode, PolicyOrigin
from tenants.policy_rules import Named, Rule, parse


class PolicyColumns(models.Model):
    """A rule as it stands: `terms` are its kind's own, in JSON; retired ones are kept and say nothing."""

    slug = models.CharField(max_length=40)
    title = models.CharField(max_length=80)
    kind = models.CharField(max_length=20, choices=PolicyKind.choices)
    terms = models.JSONField(default=dict)
    mode = models.CharField(max_length=10, choices=PolicyMode.choices, default=PolicyMode.OFF)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class VersionColumns(models.Model):
    """What a rule said from `at` on. Insert-only."""

    number = models.PositiveIntegerField()
    title = models.CharField(max_length=80)
    terms = models.JSONField(default=dict)
    mode = models.CharField(max_length=10, choices=PolicyMode.choices)
    changed_by = models.UUIDField(null=True)
    at = models.DateTimeField()

    class Meta:
        abstract = True


class Policy(TenantModel, PolicyColumns):
    """An organisation's rule. It can only tighten what the platform's rules leave open."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "slug"], name="policy_slug_once", condition=Q(retired_at__isnull=True)
            )
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("policy", str(self.pk), self.slug)

    @property
    def rule(self) -> Rule:
        return rule_of(PolicyOrigin.ORGANIZATION, self.slug, self.title, self.kind, self.terms, self.mode)


class PolicyVersion(TenantModel, VersionColumns):
    policy = models.ForeignKey("tenants.Policy", on_delete=models.PROTECT, related_name="versions")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["policy", "number"], name="policy_version_once")]


class PlatformPolicy(UUIDModel, PolicyColumns):
    """The platform's rule, in force for every organisation."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["slug"], name="platform_policy_slug_once", condition=Q(retired_at__isnull=True)
            )
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("platform_policy", str(self.pk), self.slug)

    @property
    def rule(self) -> Rule:
        return rule_of(PolicyOrigin.PLATFORM, self.slug, self.title, self.kind, self.terms, self.mode)


class PlatformPolicyVersion(UUIDModel, VersionColumns):
    policy = models.ForeignKey("tenants.PlatformPolicy", on_delete=models.PROTECT, related_name="versions")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["policy", "number"], name="platform_policy_version_once")]


def rule_of(origin: str, slug: str, title: str, kind: str, terms: dict[str, object], mode: str) -> Rule:
    """A row as the engine takes it. The platform's rules are named `platform/…`, so that no name means two."""
    known = PolicyOrigin(origin)
    name = f"platform/{slug}" if known is PolicyOrigin.PLATFORM else slug
    return Rule(Named(name, title, known), parse(kind, terms), PolicyMode(mode))  # type: ignore[arg-type]
