"""Questions about policies: which there are, which are in force, and what they said before."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Value

from core.errors import NotFound
from core.types import Actor
from tenants.enums import Permission, PolicyMode, PolicyOrigin
from tenants.models import PlatformPolicy, PlatformPolicyVersion, Policy, PolicyVersion
from tenants.models.policies import rule_of
from tenants.policy_rules import Rule
from tenants.selectors import organization_of, projects_with

AnyPolicy = Policy | PlatformPolicy
AnyVersion = PolicyVersion | PlatformPolicyVersion
_COLUMNS = ("slug", "title", "kind", "terms", "mode")


def rules_in_force() -> tuple[Rule, ...]:
    """The rules that speak in the scope's organisation: the platform's and its own, observed ones too. One query."""
    platform = _speaking(PolicyOrigin.PLATFORM)
    own = _speaking(PolicyOrigin.ORGANIZATION)
    return tuple(rule_of(*row) for row in platform.union(own, all=True))


def may_see_policies(actor: Actor) -> bool:
    return projects_with(actor, Permission.VIEW_POLICY).exists()


def policies_visible_to(actor: Actor) -> list[AnyPolicy]:
    """The platform's first, then the organisation's own, by slug; nothing for one who may see none."""
    if not may_see_policies(actor):
        return []
    own = Policy.objects.filter(organization_id=organization_of(actor).pk, retired_at=None).order_by("slug")
    return [*PlatformPolicy.objects.filter(retired_at=None).order_by("slug"), *own]


def policy_for(actor: Actor, policy_id: UUID) -> AnyPolicy:
    """Raises NotFound."""
    found = next((each for each in policies_visible_to(actor) if each.pk == policy_id), None)
    if found is None:
        raise NotFound("policy", policy_id)
    return found


def platform_policies() -> list[PlatformPolicy]:
    return list(PlatformPolicy.objects.filter(retired_at=None).order_by("slug"))


def versions_of(policy: AnyPolicy) -> list[AnyVersion]:
    """Newest first."""
    if isinstance(policy, Policy):
        return list(PolicyVersion.objects.filter(policy=policy).order_by("-number"))
    return list(PlatformPolicyVersion.objects.filter(policy=policy).order_by("-number"))


def _speaking(origin: PolicyOrigin):  # type: ignore[no-untyped-def]
    table = PlatformPolicy if origin is PolicyOrigin.PLATFORM else Policy
    rows = table.objects.filter(retired_at=None).exclude(mode=PolicyMode.OFF)
    return rows.values_list(Value(origin.value), *_COLUMNS)
