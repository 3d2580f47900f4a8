"""Which borrowers end so that a lender gets back what it has lent. Pure.

Only those that were launched as preemptible; the youngest first, no more than it takes, and none where all of them
together would not be enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Need:
    """What a lender is short of, and which places have borrowed how much of it."""

    resource: str
    short: int
    borrowed: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class Borrower:
    """A workload that may end for a lender: the level and name of each place above it, and what it holds."""

    id: UUID
    places: frozenset[tuple[str, str]]
    amounts: Mapping[str, int]

    def frees(self, need: Need) -> int:
        return self.amounts.get(need.resource, 0) if self.places & need.borrowed.keys() else 0


def to_end(needs: Sequence[Need], borrowers: Sequence[Borrower], ending: Sequence[Borrower]) -> tuple[UUID, ...]:
    """`borrowers`: the youngest first. `ending`: what comes back without anybody's doing."""
    chosen: list[Borrower] = []
    for each in borrowers:
        if any(_lacks(need, (*ending, *chosen)) and _may_take(need, each, (*ending, *chosen)) for need in needs):
            chosen.append(each)
    if any(_lacks(need, (*ending, *chosen)) for need in needs):
        return ()
    for each in tuple(chosen):
        others = [*ending, *(other for other in chosen if other is not each)]
        if not any(_lacks(need, others) for need in needs):
            chosen.remove(each)
    return tuple(each.id for each in chosen)


def _lacks(need: Need, ended: Iterable[Borrower]) -> bool:
    return sum(each.frees(need) for each in ended) < need.short


def _may_take(need: Need, each: Borrower, ended: Iterable[Borrower]) -> bool:
    """Whether a place of it would still hold more than its own share: that alone is taken back."""
    if not each.frees(need):
        return False
    return any(
        need.borrowed[place] > sum(other.amounts.get(need.resource, 0) for other in ended if place in other.places)
        for place in each.places & need.borrowed.keys()
    )
