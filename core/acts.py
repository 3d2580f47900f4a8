"""An act is one thing done from outside: a request, a task, a command. It has one id, and so one audit event."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from core.ids import uuid7


class SourceKind(StrEnum):
    PORTAL = "portal"
    API = "api"
    PROXY = "proxy"
    SYSTEM = "system"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Source:
    """Where an act came in: the interface, the address of the caller and the request's id."""

    kind: SourceKind
    address: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Act:
    id: UUID
    source: Source


_current: ContextVar[Act | None] = ContextVar("steelyard_act", default=None)


@contextmanager
def begin(source: Source) -> Iterator[Act]:
    """Begin a new act; acts nest (a sweep is one act after another inside its task)."""
    act = Act(id=uuid7(), source=source)
    token = _current.set(act)
    try:
        yield act
    finally:
        _current.reset(token)


def current() -> Act:
    """The act under way. Code that runs outside any boundary (a shell, a test) gets one of its own."""
    return _current.get() or Act(id=uuid7(), source=Source(SourceKind.COMMAND))
