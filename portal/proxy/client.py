"""A client's connection: requests answered strictly in order, read no faster than they can be passed on."""

from __future__ import annotations

import asyncio
import math
import socket
import time
from collections import deque
from enum import Enum, auto
from typing import Final, cast

from portal.proxy import pages
from portal.proxy.config import Clocks
from portal.proxy.exchange import Exchange
from portal.proxy.heads import Malformed
from portal.proxy.reader import IncomingRequest, RequestReader
from portal.proxy.splice import Splice
from portal.proxy.state import State


class Phase(Enum):
    """What the connection is waiting for; each has its own patience."""

    FIRST = auto()
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    CLIENT_READS = auto()
    LINGER = auto()


_KEEPALIVE: Final = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 30), ("TCP_KEEPCNT", 4))


class ClientConnection(asyncio.Protocol):
    __slots__ = (
        "_advancing",
        "_closing",
        "_exchange",
        "_full",
        "_held",
        "_last",
        "_paused",
        "_phase",
        "_queue",
        "_reader",
        "_state",
        "_unread",
        "address",
        "deadline",
        "transport",
    )

    transport: asyncio.Transport

    def __init__(self, state: State) -> None:
        self.address = ""
        self.deadline = math.inf
        self._state = state
        self._reader = RequestReader(state.config.limits)
        self._queue: deque[IncomingRequest] = deque()
        self._exchange: Exchange | None = None
        self._unread: IncomingRequest | None = None
        """Answered before its body had come; the rest of it is thrown away."""
        self._phase: Phase | None = None
        self._advancing = self._closing = self._full = self._held = self._last = self._paused = False

    @property
    def idle(self) -> bool:
        return self._exchange is None and not self._reader.in_head and not self._queue

    # --- asyncio's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.address = _peer_of(transport)
        self._state.clients.add(self)
        if self._state.full:
            self._say_last(pages.plain(503, "too_many_connections"))
            return
        _keep_tcp_alive(transport)
        self._phase = Phase.FIRST
        self.deadline = time.monotonic() + _patience(Phase.FIRST, self._state.config.clocks)

    def connection_lost(self, _: Exception | None) -> None:
        self._closing = True
        self._state.clients.discard(self)
        if self._exchange is not None:
            self._exchange.client_lost()

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        self._queue.extend(self._reader.feed(data))
        if self._unread is not None and self._unread.complete:
            self._unread = None
        if self._reader.fault is not None:
            self._drop_broken(self._reader.fault)
        self._advance()

    def pause_writing(self) -> None:
        self._full = True
        if self._exchange is not None:
            self._exchange.client_full(True)
        self._time()

    def resume_writing(self) -> None:
        self._full = False
        if self._exchange is not None:
            self._exchange.client_full(False)
        self._advance()

    # --- the exchange's calls

    def write(self, data: bytes) -> None:
        if not self._closing:
            self.transport.write(data)

    def hold_reading(self, held: bool) -> None:
        self._held = held
        self._regulate()
        self._time()

    def exchange_ended(self, *, keep_alive: bool) -> None:
        exchange, self._exchange = self._exchange, None
        self._held = False
        self._last = self._last or not keep_alive
        if exchange is not None and not exchange.request.complete:
            self._unread = exchange.request
        self._advance()

    def hand_over(self, splice: Splice, from_upstream: bytes) -> None:
        """From here on the splice has the transport."""
        self._state.clients.discard(self)
        self._exchange = None
        self._closing = True
        splice.join(self._reader.rest, from_upstream)

    def abort(self) -> None:
        self._closing = True
        self.transport.abort()

    # --- the sweep's and the shutdown's calls

    def expire(self) -> None:
        if self._phase in {Phase.HEAD, Phase.BODY} and self._exchange is None:
            self._say_last(pages.plain(408, "request_too_slow"))
        elif self._phase is Phase.BODY and self._exchange is not None:
            self._exchange.request_broken(pages.plain(408, "request_too_slow"))
        else:
            self.abort()

    def stop_when_idle(self) -> None:
        self._last = True
        if self.idle:
            self._close()

    # --- order

    def _advance(self) -> None:
        """Begin what comes next. Not reentrant: an answer given at once comes back here through `exchange_ended`."""
        if self._advancing:
            return
        self._advancing = True
        try:
            while self._may_begin():
                exchange = Exchange(self._state, self, self._queue.popleft())
                self._exchange = exchange
                self._phase = None
                exchange.begin()
        finally:
            self._advancing = False
        if self._exchange is None and not self._closing and not self._full:
            self._settle()
        self._regulate()
        self._time()

    def _drop_broken(self, fault: Malformed) -> None:
        """The request in the middle of which reading became impossible ends here; those before it are answered."""
        if self._queue and not self._queue[-1].complete:
            self._queue.pop()
        elif self._exchange is not None and not self._exchange.request.complete:
            self._exchange.request_broken(pages.plain(fault.status, fault.code))

    def _may_begin(self) -> bool:
        return not (
            self._exchange is not None
            or not self._queue
            or self._unread is not None
            or self._last
            or self._full
            or self._closing
        )

    def _settle(self) -> None:
        """Nothing is under way: close, if no further request can or may follow."""
        fault = self._reader.fault
        if self._last:
            self._close()
        elif fault is not None and not self._queue:
            self._say_last(pages.plain(fault.status, fault.code))
        elif self._reader.switched and not self._queue:
            self._close()

    def _say_last(self, answer: pages.Answer) -> None:
        self.write(answer.as_bytes(close=True, with_body=True))
        self._close()

    def _close(self) -> None:
        """Send what is written, then end; the sweep cuts it off if the client does not read."""
        self._closing = True
        self._phase = Phase.LINGER
        self.deadline = time.monotonic() + self._state.config.clocks.linger
        reader = self._reader
        if reader.fault is None and self._unread is None and not (reader.in_head or reader.in_body):
            self.transport.close()
            return
        if self._paused:
            self.transport.resume_reading()
        self.transport.write_eof()  # more is coming in: closing now would destroy the answer before it is read

    def _regulate(self) -> None:
        if self._closing:
            return
        waits = self._exchange is not None and self._exchange.request.waits
        pause = self._held or waits or bool(self._queue) or bool(self._reader.rest)
        if pause is self._paused:
            return
        self._paused = pause
        if pause:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    # --- patience

    def _time(self) -> None:
        if self._closing:
            return
        phase = self._current_phase()
        if phase is not self._phase or phase is Phase.BODY:
            self._phase = phase
            self.deadline = time.monotonic() + _patience(phase, self._state.config.clocks)

    def _current_phase(self) -> Phase:
        if self._full:
            return Phase.CLIENT_READS
        if self._unread is not None:
            return Phase.LINGER
        exchange = self._exchange
        if exchange is not None:
            return Phase.ANSWER if exchange.request.complete or self._paused else Phase.BODY
        if self._reader.in_head:
            return Phase.HEAD
        return Phase.FIRST if self._phase is Phase.FIRST else Phase.IDLE


def _patience(phase: Phase, clocks: Clocks) -> float:
    match phase:
        case Phase.ANSWER:
            return math.inf
        case Phase.FIRST | Phase.HEAD:
            return clocks.head
        case Phase.IDLE:
            return clocks.keep_alive
        case Phase.BODY:
            return clocks.body
        case Phase.CLIENT_READS:
            return clocks.stall
        case Phase.LINGER:
            return clocks.linger


def _peer_of(transport: asyncio.BaseTransport) -> str:
    peer: object = transport.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) and peer else ""


def _keep_tcp_alive(transport: asyncio.BaseTransport) -> None:
    """Dead peers of silent sockets are noticed by the kernel, not by a time-out of ours."""
    found: object = transport.get_extra_info("socket")
    if not hasattr(found, "setsockopt"):
        return
    opened = cast("socket.socket", found)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
