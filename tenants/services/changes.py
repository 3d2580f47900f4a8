"""Changes of quota, price or credit that a rule lets nobody make alone."""

from __future__ import annotations

from decimal import Decimal

from core.errors import Refused
from core.types import ObjectRef
from tenants.policy_rules import Change, Need, decide_change
from tenants.selectors.policies import rules_in_force

_BEYOND_ANY = Decimal("Infinity")


def needs_of(change: Change) -> tuple[Need, ...]:
    """The rules of the scope's organisation that ask for approval of it."""
    return decide_change(rules_in_force(), change)


def deciders_of(needs: tuple[Need, ...]) -> int:
    """How many people must agree: one where no rule says two."""
    return max((2 if need.four_eyes else 1 for need in needs), default=1)


def watches(kind: str, resource: str) -> bool:
    """Whether any rule asks for approval of changes of this kind, however large they must be."""
    return bool(needs_of(Change(kind, _BEYOND_ANY, resource)))


def refuse_alone(change: Change, ref: ObjectRef) -> None:
    """Raise Refused where a rule asks for approval: it has to be asked for, and decided by somebody else."""
    needs = needs_of(change)
    if needs:
        raise Refused([need.reason for need in needs], ref=ref, code="approval_needed")
