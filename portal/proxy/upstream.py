"""Connections to workspaces: kept open between requests, one request at a time on each."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from typing import Final, NamedTuple, Protocol, cast

import httptools

from portal.proxy.config import Clocks, Limits
from portal.proxy.gate import Upstream
from portal.proxy.heads import Body, Header, Malformed, ResponseHead, judge_response

logger = logging.getLogger(__name__)

_HEAD_BYTES: Final = 262_144  # without a body between them; also what trailers and chunk extensions may come to


class Address(NamedTuple):
    unix_socket: str | None
    host: str | None
    port: int | None


class ResponseSink(Protocol):
    """Whoever waits for the answer."""

    def response_began(self, head: ResponseHead) -> None: ...

    def response_piece(self, piece: bytes) -> None: ...

    def response_read(self) -> None:
        """All that has come so far was passed on; more follows."""

    def response_ended(self) -> None: ...

    def response_switched(self, head: ResponseHead, rest: bytes) -> None: ...

    def response_lost(self) -> None: ...

    def upstream_full(self) -> None: ...

    def upstream_drained(self) -> None: ...


class UpstreamConnection(asyncio.Protocol):
    """Reads answers for one sink after another.

    What a workspace says without having been asked ends the connection: it could pass for the next answer.
    """

    __slots__ = (
        "_barren",
        "_beyond",
        "_ended",
        "_expects_switch",
        "_full",
        "_head",
        "_headers",
        "_parser",
        "_pool",
        "_reason",
        "_reusable",
        "_sink",
        "_to_head",
        "address",
        "idle_since",
        "transport",
        "used",
    )

    transport: asyncio.Transport

    def __init__(self, pool: UpstreamPool, address: Address) -> None:
        self.address = address
        self.idle_since = 0.0
        self.used = False
        self._pool = pool
        self._sink: ResponseSink | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._full = False
        self._reset()

    def begin(self, sink: ResponseSink, head: bytes, *, to_head: bool, expects_switch: bool) -> None:
        self._reset()
        self._sink = sink
        self._to_head = to_head
        self._expects_switch = expects_switch
        self.transport.write(head)

    def abort(self) -> None:
        """Break off whatever is under way. The sink hears no more."""
        self._sink = None
        self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._pool.lost(self)
        sink, self._sink = self._sink, None
        if sink is None:
            return
        if exc is None and self._head is not None and self._head.body is Body.UNTIL_CLOSE:
            sink.response_ended()
        else:
            sink.response_lost()

    def pause_writing(self) -> None:
        self._full = True
        if self._sink is not None:
            self._sink.upstream_full()

    def resume_writing(self) -> None:
        self._full = False
        if self._sink is not None:
            self._sink.upstream_drained()

    def data_received(self, data: bytes) -> None:
        if self._sink is None:
            self.transport.abort()
            return
        self._barren += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._switch(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            if isinstance(error, httptools.HttpParserCallbackError) and not isinstance(error.__context__, Malformed):
                logger.exception("an answer could not be passed on")
            self._give_up()
        else:
            if self._ended:
                self._conclude()
            elif self._barren > _HEAD_BYTES:
                self._give_up()
            elif self._sink is not None:
                self._sink.response_read()

    def _switch(self, rest: bytes) -> None:
        sink, head = self._sink, self._head
        if sink is None or head is None:
            self._give_up()
            return
        self._sink = None
        sink.response_switched(head, rest)

    def _give_up(self) -> None:
        sink, self._sink = self._sink, None
        self.transport.abort()
        if sink is not None:
            sink.response_lost()

    def _conclude(self) -> None:
        sink, self._sink = self._sink, None
        reusable = self._reusable and not self._beyond and not self._full
        if self._to_head:
            self._parser = httptools.HttpResponseParser(self)
        self.used = True
        if sink is not None:
            sink.response_ended()
        if reusable and not self.transport.is_closing():
            self._pool.give_back(self)
        else:
            self.transport.close()

    def _reset(self) -> None:
        self._head: ResponseHead | None = None
        self._ended = False
        self._beyond = False
        self._reusable = False
        self._to_head = False
        self._expects_switch = False
        self._headers: list[Header] = []
        self._barren = 0
        self._reason = b""

    def on_message_begin(self) -> None:
        if self._ended:
            self._beyond = True

    def on_status(self, piece: bytes) -> None:
        self._reason += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._beyond or (status < 200 and status != 101):
            return
        if self._barren > _HEAD_BYTES:
            raise Malformed(502, "upstream_head_too_large")
        self._barren = 0
        self._reusable = self._parser.should_keep_alive()  # the parser forgets with the end of the message
        head = self._head = judge_response(status, self._reason, self._headers, to_head=self._to_head)
        self._headers = []  # what follows are trailers
        if status == 101:
            if not self._expects_switch or not self._parser.should_upgrade():
                raise Malformed(502, "unasked_switch")
            return
        if self._sink is not None:
            self._sink.response_began(head)
        if self._to_head:
            self._ended = True

    def on_body(self, piece: bytes) -> None:
        self._barren = 0
        if self._ended:
            self._beyond = True
        elif self._sink is not None:
            self._sink.response_piece(piece)

    def on_message_complete(self) -> None:
        if self._head is None:
            self._headers, self._reason = [], b""  # 1xx: the real answer follows
        else:
            self._ended = True


class UpstreamPool:
    def __init__(self, clocks: Clocks, limits: Limits) -> None:
        self._clocks = clocks
        self._most = limits.idle_upstreams
        self._idle: defaultdict[Address, list[UpstreamConnection]] = defaultdict(list)

    def take(self, address: Address, *, repeatable: bool) -> UpstreamConnection | None:
        """An open connection; a recently used one where the request could not be sent a second time."""
        idle = self._idle.get(address)
        if not idle:
            return None
        oldest = time.monotonic() - (self._clocks.upstream_idle if repeatable else self._clocks.upstream_fresh)
        connection = idle[-1]
        return idle.pop() if connection.idle_since >= oldest else None

    async def connect(self, address: Address) -> UpstreamConnection:
        """Open one more. Raises OSError (a timeout is one, too)."""
        loop = asyncio.get_running_loop()
        unix_socket, host, port = address
        async with asyncio.timeout(self._clocks.connect):
            if unix_socket is not None:
                _, opened = await loop.create_unix_connection(lambda: UpstreamConnection(self, address), unix_socket)
            elif host is not None and port is not None:
                _, opened = await loop.create_connection(lambda: UpstreamConnection(self, address), host, port)
            else:
                raise OSError("the workspace has no address")
        return opened

    def give_back(self, connection: UpstreamConnection) -> None:
        idle = self._idle[connection.address]
        if len(idle) >= self._most:
            connection.transport.close()
            return
        connection.idle_since = time.monotonic()
        idle.append(connection)

    def lost(self, connection: UpstreamConnection) -> None:
        idle = self._idle.get(connection.address)
        if idle is None:
            return
        if connection in idle:
            idle.remove(connection)
        if not idle:
            del self._idle[connection.address]

    def sweep(self) -> None:
        oldest = time.monotonic() - self._clocks.upstream_idle
        for idle in list(self._idle.values()):
            for connection in [one for one in idle if one.idle_since < oldest]:
                idle.remove(connection)
                connection.transport.close()

    def close(self) -> None:
        for idle in list(self._idle.values()):
            for connection in tuple(idle):
                connection.transport.close()


def address_of(upstream: Upstream) -> Address:
    return Address(upstream.unix_socket, upstream.host, upstream.port)
