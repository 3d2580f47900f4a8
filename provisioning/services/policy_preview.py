"""Asking what a rule would have changed: one recorded look at the past, nothing stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from core import audit
from core.types import Actor, Json
from provisioning.selectors.policy_preview import PolicyPreview, preview_rule
from tenants.enums import Permission, PolicyMode, PolicyOrigin
from tenants.permissions import authorize
from tenants.policy_rules import Named, Rule, parse
from tenants.selectors import organization_of
from tenants.selectors.policies import policy_for


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
        replaces=replaced.rule.name.slug if replaced else None,
        currency=organization.currency,
        now=now,
    )
    audit.record(actor, "policy.previewed", organization.ref, now=now, after={"kind": kind, "terms": dict(terms)})
    return found
