"""What workloads say, asked for once however many listen, and who listens.

A feed holds a bounded end of what was said. Whoever reads more slowly than it grows is told that something was left
out, and the feed waits for nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from itertools import islice
from typing import NamedTuple

from portal.proxy.config import Clocks, Limits
from portal.proxy.gate import Gatekeeper, Source, StreamKind

logger = logging.getLogger(__name__)

_AT_ONCE = 65_536


class Heard(NamedTuple):
    data: bytes
    position: int
    missed: bool


class Feed:
    def __init__(self, source: Source, notice: bytes, clocks: Clocks, limits: Limits) -> None:
        self.listeners = 0
        self.begun = self.over = self.closed = False
        self._source = source
        self._notice = notice
        self._every = clocks.listen
        self._limits = limits
        self._items: deque[bytes] = deque()
        self._bytes = 0
        self._first = 0
        """The position of the oldest item that is still held."""
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Ask until nothing more will come. A question that fails is asked again."""
        while not (self.over or self.closed):
            try:
                piece = await self._source.more()
            except Exception:
                logger.exception("a stream's source did not answer")
            else:
                if piece.missed:
                    self._add(self._notice)
                for item in piece.items:
                    self._add(item)
                news = piece.items or piece.over or not self.begun
                self.begun, self.over = True, piece.over
                if news:
                    self._tell()
            if not self.over:
                await asyncio.sleep(self._every)

    def last(self, tail: int) -> int:
        """The position of the last so many items."""
        return max(self._first, self._first + len(self._items) - tail)

    def after(self, position: int) -> Heard:
        """Some of what stands from a position on, and where to go on."""
        missed = position < self._first
        position = max(position, self._first)
        found, size = list[bytes](), 0
        for item in islice(self._items, position - self._first, None):
            found.append(item)
            size += len(item)
            if size >= _AT_ONCE:
                break
        return Heard(b"".join(found), position + len(found), missed)

    async def wait(self, seconds: float) -> bool:
        """Whether anything has changed within this time."""
        changed = self._changed
        try:
            async with asyncio.timeout(seconds):
                await changed.wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        self.closed = True
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _add(self, item: bytes) -> None:
        self._items.append(item)
        self._bytes += len(item)
        while len(self._items) > 1 and (
            self._bytes > self._limits.feed_bytes or len(self._items) > self._limits.feed_items
        ):
            self._bytes -= len(self._items.popleft())
            self._first += 1


class Feeds:
    """Every feed that somebody listens to, and how many streams each person has open."""

    def __init__(self, gate: Gatekeeper, clocks: Clocks, limits: Limits) -> None:
        self._gate = gate
        self._clocks = clocks
        self._limits = limits
        self._feeds: dict[tuple[StreamKind, str], Feed] = {}
        self._asking: dict[Feed, asyncio.Task[None]] = {}
        self._seats: Counter[str] = Counter()

    def seat(self, person: str) -> bool:
        """Take one of a person's seats, if one is free."""
        if self._seats[person] >= self._limits.streams:
            return False
        self._seats[person] += 1
        return True

    def stand_up(self, person: str) -> None:
        self._seats[person] -= 1
        if not self._seats[person]:
            del self._seats[person]

    def join(self, kind: StreamKind, source: str, notice: bytes) -> Feed:
        key = (kind, source)
        feed = self._feeds.get(key)
        if feed is None or feed.over or feed.closed:
            feed = self._feeds[key] = Feed(self._gate.source(kind, source), notice, self._clocks, self._limits)
            self._asking[feed] = asyncio.create_task(feed.run())
        feed.listeners += 1
        return feed

    def leave(self, kind: StreamKind, source: str, feed: Feed) -> None:
        feed.listeners -= 1
        if feed.listeners:
            return
        self._asking.pop(feed).cancel()
        if self._feeds.get((kind, source)) is feed:
            del self._feeds[kind, source]

    def close(self) -> None:
        """The proxy stops: what is open ends."""
        for feed in tuple(self._asking):
            feed.close()
