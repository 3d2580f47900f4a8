"""The one engine of policies: pure, and asked for every place where data or work could go."""

from tenants.policy_rules.engine import Change, Decision, Finding, Limit, Named, Need, Rule, decide, decide_change
from tenants.policy_rules.subject import Subject
from tenants.policy_rules.terms import (
    Accelerators,
    ApprovalAbove,
    CapacityKinds,
    ChangeApproval,
    Egress,
    IdleStop,
    Images,
    MaxLifetime,
    PublicEndpoints,
    Regions,
    RequiredLabels,
    Terms,
    parse,
)

__all__ = [
    "Accelerators",
    "ApprovalAbove",
    "CapacityKinds",
    "Change",
    "ChangeApproval",
    "Decision",
    "Egress",
    "Finding",
    "IdleStop",
    "Images",
    "Limit",
    "MaxLifetime",
    "Named",
    "Need",
    "PublicEndpoints",
    "Regions",
    "RequiredLabels",
    "Rule",
    "Subject",
    "Terms",
    "decide",
    "decide_change",
    "parse",
]
