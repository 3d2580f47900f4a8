"""The decision: which rules say no, which ask for approval, and what is the strictest of the limits that they set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

from core.types import Reason
from tenants.enums import PolicyMode, PolicyOrigin
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
)

APPROVAL_NEEDED = "approval_needed"
_ASK = {
    PolicyOrigin.PLATFORM: "the platform's administrator, who set this rule",
    PolicyOrigin.ORGANIZATION: "an owner or admin of the organisation, who set this rule",
}


@dataclass(frozen=True, slots=True)
class Named:
    """A rule by its name, and who set it."""

    slug: str
    title: str
    origin: PolicyOrigin

    @property
    def words(self) -> str:
        return f"{self.title} (set by the {'platform' if self.origin is PolicyOrigin.PLATFORM else 'organisation'})"


@dataclass(frozen=True, slots=True)
class Rule:
    name: Named
    terms: Terms
    mode: PolicyMode = PolicyMode.ENFORCE


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule's no, with the reason that names it."""

    rule: Named
    reason: Reason


@dataclass(frozen=True, slots=True)
class Need:
    """One rule's wish for approval."""

    rule: Named
    reason: Reason
    four_eyes: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """The strictest of a kind of limit, and the rule that sets it."""

    rule: Named
    at_most: timedelta


@dataclass(frozen=True, slots=True)
class Decision:
    """`observed`: what rules in observation would have said, without effect. `egress`: the rules on hosts, all of
    which must let a host through."""

    denials: tuple[Finding, ...] = ()
    approvals: tuple[Need, ...] = ()
    max_lifetime: Limit | None = None
    idle_after: Limit | None = None
    egress: tuple[Egress, ...] = ()
    observed: tuple[Finding, ...] = ()

    @property
    def denied(self) -> bool:
        return bool(self.denials)

    @property
    def deciders(self) -> int:
        """How many people must agree: none, one, or two."""
        return max((2 if need.four_eyes else 1 for need in self.approvals), default=0)

    @property
    def asking_rules(self) -> str:
        return ", ".join(need.rule.slug for need in self.approvals)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of quota (`resource`, whole units), price or credit (`currency`)."""

    kind: str
    amount: Decimal
    resource: str = ""
    currency: str = ""


def decide(rules: Iterable[Rule], subject: Subject) -> Decision:
    """All that the rules say of it at once. A rule can only take away: each one more denies as much or more."""
    decision = Decision()
    for rule in sorted(rules, key=_first_the_platforms):
        if rule.mode is not PolicyMode.OFF:
            decision = _with(decision, rule, subject)
    return decision


def _first_the_platforms(rule: Rule) -> tuple[bool, str]:
    return rule.name.origin is not PolicyOrigin.PLATFORM, rule.name.slug


def decide_change(rules: Iterable[Rule], change: Change) -> tuple[Need, ...]:
    """Which rules ask for approval of a change. One in another currency cannot be compared, so it asks."""
    return tuple(
        Need(rule.name, _change_reason(rule, rule.terms, change), rule.terms.four_eyes)
        for rule in rules
        if rule.mode is PolicyMode.ENFORCE and isinstance(rule.terms, ChangeApproval) and _is_beyond(rule.terms, change)
    )


def _with(decision: Decision, rule: Rule, subject: Subject) -> Decision:
    said = _denial(rule.terms, subject)
    asks = _approval(rule.terms, subject)
    if rule.mode is PolicyMode.OBSERVE:
        words = said or asks or _limit_words(rule.terms, subject)
        if words is None:
            return decision
        found = Finding(rule.name, _reason(rule.name, *words))
        return replace(decision, observed=(*decision.observed, found))
    if said is not None:
        return replace(decision, denials=(*decision.denials, Finding(rule.name, _reason(rule.name, *said))))
    if asks is not None and isinstance(rule.terms, ApprovalAbove):
        need = Need(rule.name, _reason(rule.name, *asks), rule.terms.four_eyes)
        return replace(decision, approvals=(*decision.approvals, need))
    match rule.terms:
        case MaxLifetime(at_most=at_most):
            return replace(decision, max_lifetime=_stricter(decision.max_lifetime, Limit(rule.name, at_most)))
        case IdleStop(after=after):
            return replace(decision, idle_after=_stricter(decision.idle_after, Limit(rule.name, after)))
        case Egress():
            return replace(decision, egress=(*decision.egress, rule.terms))
    return decision


Words = tuple[str, str, int | None, int | None]
"""Code, message, and the numbers asked and allowed."""


def _denial(terms: Terms, subject: Subject) -> Words | None:
    match terms:
        case Regions():
            return _region(terms, subject)
        case Images() if subject.image is not None and not terms.allows(subject.image):
            return "image_not_allowed", f"The image {subject.image} is not among those allowed.", None, None
        case Accelerators(models=models) if subject.accelerator is not None and subject.accelerator not in models:
            which = f"only {', '.join(models)}" if models else "none at all"
            return "accelerator_not_allowed", f"{subject.accelerator} asked; allowed: {which}.", None, None
        case CapacityKinds(kinds=kinds) if subject.capacity_kind is not None and subject.capacity_kind not in kinds:
            asked, allowed = subject.capacity_kind.replace("_", " "), ", ".join(kinds).replace("_", " ")
            return "capacity_kind_not_allowed", f"{asked} capacity asked; allowed: {allowed}.", None, None
        case PublicEndpoints(allowed=False) if subject.public:
            return "public_not_allowed", "Nothing may be reached from outside without signing in.", None, None
        case Egress():
            outside = [host for host in subject.egress if not terms.allows(host)]
            if outside:
                return "egress_not_allowed", f"It may not reach {', '.join(outside)}.", None, None
        case RequiredLabels():
            return _labels(terms, subject)
    return None


def _region(terms: Regions, subject: Subject) -> Words | None:
    allowed = terms.by_class.get(subject.data_class)
    if allowed is None or subject.region is None or subject.region in allowed:
        return None
    where = ", ".join(allowed) or "no region"
    message = f"{subject.data_class.capitalize()} data of {subject.project} stays in {where}; {subject.region} asked."
    return "region_not_allowed", message, None, None


def _labels(terms: RequiredLabels, subject: Subject) -> Words | None:
    missing = [name for name in terms.labels if not subject.labels.get(name)]
    if missing:
        return "labels_missing", f"It needs the label{'s' * (len(missing) > 1)} {', '.join(missing)}.", None, None
    for name, values in terms.labels.items():
        if values and subject.labels[name] not in values:
            return "label_not_allowed", f"The label {name} is one of {', '.join(values)}.", None, None
    return None


def _approval(terms: Terms, subject: Subject) -> Words | None:
    if not isinstance(terms, ApprovalAbove):
        return None
    if terms.accelerators is not None and subject.accelerator and subject.accelerator_count > terms.accelerators:
        message = f"{subject.accelerator_count} accelerators asked; above {terms.accelerators} it needs approval."
        return APPROVAL_NEEDED, message, subject.accelerator_count, terms.accelerators
    if terms.price_per_hour is None or subject.price_per_hour is None:
        return None
    if subject.currency != terms.currency:
        message = f"Its price is in {subject.currency}; the limit is in {terms.currency}, so it needs approval."
        return APPROVAL_NEEDED, message, None, None
    if subject.price_per_hour > terms.price_per_hour:
        limit = f"{terms.price_per_hour:f} {terms.currency}"
        return APPROVAL_NEEDED, f"It costs more than {limit} an hour, so it needs approval.", None, None
    return None


def _limit_words(terms: Terms, subject: Subject) -> Words | None:
    """What a limit in observation would cut short."""
    match terms:
        case MaxLifetime(at_most=span) if subject.lifetime is None or span < subject.lifetime:
            return "lifetime_limited", f"It would be stopped after {spoken(span)}.", None, None
        case IdleStop(after=span) if subject.idle_after is None or span < subject.idle_after:
            return "idle_limited", f"It would be stopped after {spoken(span)} without work.", None, None
    return None


def _reason(name: Named, code: str, message: str, asked: int | None, limit: int | None) -> Reason:
    return Reason(
        code=code,
        message=f"{message} Rule: {name.words}.",
        asked=asked,
        limit=limit,
        ask=_ASK[name.origin],
        rule=name.slug,
    )


def _is_beyond(terms: ChangeApproval, change: Change) -> bool:
    if terms.change != change.kind or (terms.resource and terms.resource != change.resource):
        return False
    if terms.currency and terms.currency != change.currency:
        return True
    return abs(change.amount) > terms.above


def _change_reason(rule: Rule, terms: ChangeApproval, change: Change) -> Reason:
    unit = change.currency or change.resource
    message = f"A {change.kind} change of {change.amount:f} {unit} is above {terms.above:f}, so it needs approval."
    return _reason(rule.name, APPROVAL_NEEDED, message, None, None)


def _stricter(known: Limit | None, other: Limit) -> Limit:
    return other if known is None or other.at_most < known.at_most else known


def spoken(span: timedelta) -> str:
    """8 h, 90 min, 45 s."""
    seconds = int(span.total_seconds())
    if seconds % 3600 == 0:
        return f"{seconds // 3600} h"
    return f"{seconds // 60} min" if seconds % 60 == 0 else f"{seconds} s"
