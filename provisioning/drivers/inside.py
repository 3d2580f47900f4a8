"""What drivers tell of the inside of a workload: its pods or processes, and what the cluster says of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from provisioning.drivers.base import RunSpec


@dataclass(frozen=True, slots=True)
class PodSeen:
    """A pod, or a process of this machine. `part`: which worker, node or task it is, empty where it is the only one.

    `cpu_milli`, `memory_bytes`: what it uses now, in thousandths of a processor and bytes; None where nobody measures.
    """

    name: str
    part: str
    node: str
    state: str
    reason: str = ""
    restarts: int = 0
    started_at: datetime | None = None
    cpu_milli: int | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PodsSeen:
    """`unmeasured`: why nothing is said of what they use; empty where it is said."""

    pods: tuple[PodSeen, ...]
    unmeasured: str = ""


@dataclass(frozen=True, slots=True)
class Happening:
    """An event of the cluster. `uid` names it for good; it may come again with a later instant and a higher count."""

    uid: str
    at: datetime
    about: str
    reason: str
    message: str
    warning: bool = False
    count: int = 1


@runtime_checkable
class TellsPods(Protocol):
    def pods(self, spec: RunSpec) -> PodsSeen:
        """Those that are there now, ended ones too, in the order of their parts."""
        ...


@runtime_checkable
class TellsHappenings(Protocol):
    def happenings(self, spec: RunSpec) -> tuple[Happening, ...]:
        """What the cluster still knows, of what is there and of what has gone."""
        ...
