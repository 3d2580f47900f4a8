"""The one graph of a workload's life, and what each state holds."""

from __future__ import annotations

from enum import StrEnum

from core.statemachine import StateMachine
from provisioning.enums import State as S

WORKLOAD: StateMachine[S] = StateMachine(
    {
        S.REQUESTED: {S.QUEUED, S.STOPPED, S.FAILED, S.DELETING},
        S.QUEUED: {S.PROVISIONING, S.STOPPED, S.FAILED, S.DELETING},
        S.PROVISIONING: {S.RUNNING, S.STOPPING, S.REQUESTED, S.DELETING},
        S.RUNNING: {S.STOPPING, S.REQUESTED, S.DELETING},
        S.STOPPING: {S.STOPPED, S.SUCCEEDED, S.FAILED, S.DELETING},
        S.STOPPED: {S.REQUESTED, S.DELETING},
        S.SUCCEEDED: {S.DELETING},
        S.FAILED: {S.REQUESTED, S.DELETING},
        S.DELETING: {S.DELETED},
        S.DELETED: set(),
    }
)
"""A start that failed goes through `stopping`: it holds what it holds until the driver says that nothing is left."""


class Holding(StrEnum):
    """What a workload's quota holds are in a state. STORAGE: the disk alone, where one has been made."""

    NOTHING = "nothing"
    STORAGE = "storage"
    ALL = "all"
    AS_BEFORE = "as_before"


HOLDS: dict[S, Holding] = {
    S.REQUESTED: Holding.STORAGE,
    S.QUEUED: Holding.ALL,
    S.PROVISIONING: Holding.ALL,
    S.RUNNING: Holding.ALL,
    S.STOPPING: Holding.ALL,
    S.STOPPED: Holding.STORAGE,
    S.SUCCEEDED: Holding.STORAGE,
    S.FAILED: Holding.STORAGE,
    S.DELETING: Holding.AS_BEFORE,
    S.DELETED: Holding.NOTHING,
}

PLACED = frozenset({S.PROVISIONING, S.RUNNING, S.STOPPING})
"""States that occupy their cluster. `deleting` occupies it for as long as it did before."""

ENDED = frozenset({S.STOPPED, S.SUCCEEDED, S.FAILED, S.DELETED})
"""States in which nothing runs for certain."""

TRANSITIONAL = frozenset({S.REQUESTED, S.QUEUED, S.PROVISIONING, S.STOPPING, S.DELETING})
