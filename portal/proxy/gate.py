"""What the data plane asks of whoever knows people and workspaces. No database and no Django on this side."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """A one-time code was good: the cookie that admits from now on, and until when."""

    cookie_value: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """Where an admitted request goes: a unix socket, or else host and port.

    `pass_key` names the permission it rests on; `base_path` is where the program behind it lives.
    """

    pass_key: str
    unix_socket: str | None = None
    host: str | None = None
    port: int | None = None
    base_path: str = "/"


@dataclass(frozen=True, slots=True)
class Refusal:
    """401: come in through the portal. 404: not there for you. 410: the code is spent. 503: not there just now."""

    status: int
    code: str
    message: str


class StreamKind(StrEnum):
    """What the proxy itself streams, at `/_steelyard/<kind>`."""

    LOGS = "logs"
    EVENTS = "events"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A one-time code for a stream was good.

    `pass_key` names the permission it rests on, `person` whose it is, `source` what is listened to: the same for all
    who listen to the same. It begins with the last `tail` items.
    """

    pass_key: str
    person: str
    source: str
    tail: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Items as they go out. `missed`: some before these were left out. `over`: nothing follows."""

    items: tuple[bytes, ...] = ()
    missed: bool = False
    over: bool = False


class Source(Protocol):
    async def more(self) -> Piece:
        """What has come since the last question; with the first, what was there. One question at a time."""


class Gatekeeper(Protocol):
    async def redeem(self, label: str, code: str) -> Entry | Refusal:
        """Spend a one-time code."""

    async def listen(self, label: str, kind: StreamKind, code: str) -> Listener | Refusal:
        """Spend a one-time code for a stream."""

    def source(self, kind: StreamKind, source: str) -> Source:
        """What listeners of this source hear. Made once for all of them."""

    async def admit(self, label: str, cookie: str) -> Upstream | Refusal:
        """Say where this cookie may go. Asked at most once in `recheck_seconds` for each cookie."""

    async def recheck(self, pass_keys: Collection[str]) -> set[str]:
        """Give back those that still hold. Asked for everything that is open, every `recheck_seconds`."""
