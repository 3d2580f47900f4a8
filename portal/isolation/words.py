"""The words of the proof: who asks, what is asked, what ought to be answered, and what was."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class Side(StrEnum):
    """Where a caller stands to the organisation whose objects are asked for."""

    MEMBER = "member"
    STRANGER = "stranger"
    PLATFORM = "platform"
    VISITOR = "visitor"


@dataclass(frozen=True, slots=True)
class Caller:
    """A role, and where it is held: in the organisation itself, in the stranger's, across the platform, nowhere."""

    side: Side
    role: str = ""

    @property
    def name(self) -> str:
        if self.side is Side.VISITOR:
            return "anonymous"
        return f"stranger.{self.role}" if self.side is Side.STRANGER else self.role


class Expected(StrEnum):
    """What a caller ought to meet. MAY and MAY_NOT: what the permission check itself ought to decide; nothing is
    asked of the route. SILENT: an answer of the caller's own, which names nothing of the other organisation's. EMPTY: a
    list that opens for everybody in the organisation, with nothing in it for a role that may see none of it."""

    ALLOWED = "allowed"
    DENIED = "denied"
    ABSENT = "absent"
    SIGN_IN = "sign_in"
    SILENT = "silent"
    EMPTY = "empty"
    MAY = "may"
    MAY_NOT = "may_not"


class Outcome(StrEnum):
    HELD = "held"
    FAILED = "failed"
    NOT_ASKED = "not_asked"


@dataclass(frozen=True, slots=True)
class Found:
    """A real object for a name in addresses. `personal`: nobody but its owner ever sees it."""

    value: str
    kind: str
    personal: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One question and its answer. `seen`: the status, or the decision; of what was not asked: why not."""

    caller: Caller
    outcome: Outcome
    expected: Expected
    seen: str
    what: str = ""

    def compact(self) -> str:
        return f"{self.outcome} {self.expected} {self.seen}"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a route answered. `told`: ids of the other organisation's rows that stand in it, and were not asked for."""

    status: int
    location: str
    challenge: str
    told: tuple[str, ...]
    crashed: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One question to the database. `seen`: what it said; of what was not asked: why not."""

    name: str
    outcome: Outcome
    seen: str


@dataclass(frozen=True, slots=True)
class Party:
    """One of the two organisations."""

    id: UUID
    slug: str
