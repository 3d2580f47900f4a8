"""A state machine is one literal: every edge is written down, none is implied."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, TypeVar

S = TypeVar("S", bound=StrEnum)


class IllegalTransition(RuntimeError):
    """The graph has no such edge: a mistake in the code."""


class StateMachine(Generic[S]):
    """All edges of one lifecycle. States without an outgoing edge are final."""

    def __init__(self, edges: Mapping[S, frozenset[S] | set[S]]) -> None:
        self._edges = {state: frozenset(targets) for state, targets in edges.items()}

    def allows(self, source: S, target: S) -> bool:
        return target in self._edges.get(source, frozenset())

    def require(self, source: S, target: S) -> None:
        """Raise IllegalTransition unless the edge is in the literal."""
        if not self.allows(source, target):
            raise IllegalTransition(f"{source} → {target} is not in the graph.")

    def targets(self, source: S) -> frozenset[S]:
        return self._edges.get(source, frozenset())

    @property
    def states(self) -> frozenset[S]:
        return frozenset(self._edges)

    @property
    def final_states(self) -> frozenset[S]:
        return frozenset(state for state, targets in self._edges.items() if not targets)
