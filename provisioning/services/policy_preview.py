"""Asking what a rule would have changed: one recorded look at the past, nothing stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from core import audit
from core.types import PLATFORM_ORGANIZATION_ID, Actor, Json, ObjectRef
from provisioning.selectors.policy_preview import PolicyPreview, preview_rule
from tenants.enums import Permission, PlatformPermission, PolicyMode, PolicyOrigin
from tenants.permissions import authorize, authorize_platform
from tenants.policy_rules import Named, Rule, parse
from tenants.selectors import organization_of
from tenants.selectors.policies import platform_policies, policy_for, rules_in_force


def preview(
    *, actor: Actor, kind: str, terms: Mapping[str, Json], replaces: UUID | None, now: datetime, title: str = ""
) -> PolicyPreview:
    """What a rule with these terms, enforced, would have changed of the organisation's launches.

    `replaces`: the rule that it would be instead of. Raises Invalid where the terms cannot be meant.
    """
    organization = organization_of(actor)
    authorize(actor, Permission.MANAGE_POLICY, organization)
    replaced = policy_for(actor, replaces) if replaces else None
    named = Named("preview", title or (replaced.title if replaced else "This rule"), PolicyOrigin.ORGANIZATION)
    found = preview_rule(
        Rule(named, parse(kind, terms), PolicyMode.ENFORCE),
        others=[each for each in rules_in_force() if replaced is None or each.name != replaced.rule.name],
        currency=organization.currency,
        now=now,
    )
    audit.record(actor, "policy.previewed", organization.ref, now=now, after={"kind": kind, "terms": dict(terms)})
    return found


def preview_for_platform(
    *,
    actor: Actor,
    kind: str,
    terms: Mapping[str, Json],
    replaces: UUID | None,
    currency: str,
    now: datetime,
    title: str = "",
) -> PolicyPreview:
    """The same for a rule of the platform's: everybody's launches, beside the platform's other rules. In its scope."""
    authorize_platform(actor, PlatformPermission.MANAGE_PLATFORM_POLICY)
    named = Named("preview", title or "This rule", PolicyOrigin.PLATFORM)
    found = preview_rule(
        Rule(named, parse(kind, terms), PolicyMode.ENFORCE),
        others=[each.rule for each in platform_policies() if each.pk != replaces],
        currency=currency,
        now=now,
    )
    ref = ObjectRef("platform", str(PLATFORM_ORGANIZATION_ID))
    audit.record(actor, "policy.previewed", ref, now=now, after={"kind": kind, "terms": dict(terms)})
    return found
