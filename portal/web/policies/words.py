"""A rule as one sentence. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tenants.enums import PolicyKind, PolicyMode
from tenants.policy_rules import (
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
from tenants.policy_rules.engine import spoken

MODES: Mapping[str, tuple[str, str]] = {
    PolicyMode.OFF: ("off", "Off"),
    PolicyMode.OBSERVE: ("wait", "Observed"),
    PolicyMode.ENFORCE: ("good", "Enforced"),
}
PURPOSES: Mapping[str, str] = {
    PolicyKind.REGIONS: "Keep data of a class in certain regions.",
    PolicyKind.IMAGES: "Only images from certain registries, or by digest.",
    PolicyKind.ACCELERATORS: "Only certain models of accelerator, or none.",
    PolicyKind.CAPACITY_KINDS: "On demand, reserved or spot.",
    PolicyKind.MAX_LIFETIME: "How long a run may last at the most.",
    PolicyKind.IDLE_STOP: "After how long without work a run is stopped.",
    PolicyKind.APPROVAL_ABOVE: "Large or expensive launches wait for somebody's word.",
    PolicyKind.PUBLIC_ENDPOINTS: "Whether anything may be reached without signing in.",
    PolicyKind.EGRESS: "Which hosts work may reach.",
    PolicyKind.REQUIRED_LABELS: "Labels that every launch must bear.",
    PolicyKind.CHANGE_APPROVAL: "Changes of quota, price or credit wait for somebody's word.",
}


def sentence(terms: Terms) -> str:
    """What the rule says, for a list."""
    match terms:
        case Regions(by_class=by_class):
            parts = [f"{name} data in {', '.join(where) or 'no region'}" for name, where in by_class.items()]
            return "; ".join(parts).capitalize()
        case Images(patterns=patterns, digests=digests, pinned=pinned):
            kept = ", ".join([*patterns, *(f"{digest[:19]}…" for digest in digests)])
            return f"{kept}{', by digest alone' if pinned else ''}"
        case Accelerators(models=models):
            return f"Only {', '.join(models)}" if models else "No accelerators"
        case CapacityKinds(kinds=kinds):
            return f"Only {', '.join(kind.replace('_', ' ') for kind in kinds)}"
        case MaxLifetime(at_most=span):
            return f"Runs end after {spoken(span)}"
        case IdleStop(after=span):
            return f"Stopped after {spoken(span)} without work"
        case PublicEndpoints(allowed=allowed):
            return "Allowed" if allowed else "Nothing without signing in"
        case Egress(hosts=hosts):
            return f"Only {', '.join(hosts)}" if hosts else "No host at all"
        case RequiredLabels(labels=labels):
            return ", ".join(
                f"{name}{' = ' + ' or '.join(values) if values else ''}" for name, values in labels.items()
            )
        case ApprovalAbove():
            return f"Above {_size(terms)}{_eyes(terms.four_eyes)}"
        case ChangeApproval(change=change, above=above, resource=resource, currency=currency):
            unit = " ".join(word for word in (currency, resource) if word)
            return f"{change.capitalize()} above {above:f}{' ' + unit if unit else ''}{_eyes(terms.four_eyes)}"


def _size(terms: ApprovalAbove) -> str:
    parts = (
        []
        if terms.accelerators is None
        else [f"{terms.accelerators} accelerator{'' if terms.accelerators == 1 else 's'}"]
    )
    if terms.price_per_hour is not None:
        parts.append(f"{terms.price_per_hour:f} {terms.currency} an hour")
    return " or ".join(parts)


def _eyes(four: bool) -> str:
    return ", by two people" if four else ""
