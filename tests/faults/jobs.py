"""What a worker of the nursery is told, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """Work on a workload until it is in the state. `fatal`: the effect before which the worker is killed (0: none)."""

    organization: str
    workload: str
    until: str
    fatal: int = 0
    sweeps: bool = False
    lease: float = 30.0
    seconds: float = 20.0


@dataclass(frozen=True)
class Outcome:
    """`effects`: what it did, in order; where it died, the last one is what it was about to do."""

    died: bool
    effects: tuple[str, ...]
