"""Bytes from a client, read as requests one after another.

llhttp reads in its strict mode; what it leaves open (repeated headers, size, odd targets) is judged in `heads`.
A fault ends the reading for good: nobody can know where the next request would begin.
"""

from __future__ import annotations

from typing import Protocol

import httptools

from portal.proxy.config import Limits
from portal.proxy.heads import Header, Malformed, RequestHead, judge_request


class BodySink(Protocol):
    """Where the pieces of a request's body go."""

    def body_piece(self, piece: bytes) -> None: ...

    def body_ended(self) -> None: ...


class IncomingRequest:
    """A request whose head is known and whose body may still be on its way.

    Until somebody takes the body its pieces are held here; the client is not read from meanwhile.
    """

    __slots__ = ("_dropped", "_held", "_sink", "complete", "head")

    def __init__(self, head: RequestHead) -> None:
        self.head = head
        self.complete = False
        self._held: list[bytes] = []
        self._sink: BodySink | None = None
        self._dropped = False

    @property
    def waits(self) -> bool:
        return bool(self._held)

    def hand_to(self, sink: BodySink) -> None:
        self._sink = sink
        held, self._held = self._held, []
        for piece in held:
            sink.body_piece(piece)
        if self.complete:
            sink.body_ended()

    def drop(self) -> None:
        """Nobody wants the rest."""
        self._sink, self._dropped = None, True
        self._held.clear()

    def receive(self, piece: bytes) -> None:
        if self._sink is not None:
            self._sink.body_piece(piece)
        elif not self._dropped:
            self._held.append(piece)

    def finish(self) -> None:
        self.complete = True
        if self._sink is not None:
            self._sink.body_ended()


class RequestReader:
    """`_barren` counts the bytes since the last that meant something: no head, trailer or chunk goes on for ever."""

    __slots__ = (
        "_barren",
        "_began",
        "_found",
        "_headers",
        "_limits",
        "_parser",
        "_request",
        "_target",
        "fault",
        "rest",
        "switched",
    )

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._parser = httptools.HttpRequestParser(self)
        self._request: IncomingRequest | None = None
        self._found: list[IncomingRequest] = []
        self._headers: list[Header] = []
        self._target = b""
        self._barren = 0
        self._began = False
        self.fault: Malformed | None = None
        self.switched = False
        self.rest = b""

    @property
    def in_head(self) -> bool:
        """A request has begun and its head is not complete."""
        return self._began and self._request is None

    @property
    def in_body(self) -> bool:
        return self._request is not None

    def feed(self, data: bytes) -> list[IncomingRequest]:
        """Read on; give back the requests whose head has become complete."""
        if self.fault is not None:
            return []
        if self.switched:
            self.rest += data
            return []
        self._barren += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self.switched = True
            self.rest = data[upgrade.args[0] :]
        except httptools.HttpParserCallbackError as error:
            self.fault = _malformed_behind(error)
        except httptools.HttpParserError:
            self.fault = Malformed(400, "bad_request")
        if self._barren > self._limits.head_bytes or len(self._headers) > self._limits.headers:
            self.fault = self.fault or Malformed(431, "head_too_large")
        found, self._found = self._found, []
        return found

    def on_message_begin(self) -> None:
        self._began = True
        self._headers = []
        self._target = b""

    def on_url(self, piece: bytes) -> None:
        self._target += piece
        if len(self._target) > self._limits.target_bytes:
            raise Malformed(414, "target_too_long")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if len(self._found) >= self._limits.pipelined:
            raise Malformed(400, "too_many_pipelined")
        self._check_size()
        self._barren = 0
        parser = self._parser
        head = judge_request(
            parser.get_method(),
            self._target,
            parser.get_http_version(),
            self._headers,
            keep_alive=parser.should_keep_alive(),
        )
        self._request = IncomingRequest(head)
        self._found.append(self._request)
        self._headers = []  # what follows are trailers, which nobody asked for

    def _check_size(self) -> None:
        """Add up only where what has been read could be too much at all."""
        most, headers = self._limits.head_bytes, self._headers
        too_long = self._barren > most and sum(len(name) + len(value) for name, value in headers) > most
        if too_long or len(headers) > self._limits.headers:
            raise Malformed(431, "head_too_large")

    def on_body(self, piece: bytes) -> None:
        self._barren = 0
        if self._request is not None:
            self._request.receive(piece)

    def on_message_complete(self) -> None:
        self._began = False
        self._barren = 0
        self._headers = []
        request, self._request = self._request, None
        if request is not None:
            request.finish()


def _malformed_behind(error: Exception) -> Malformed:
    cause = error.__context__ or error.__cause__
    if isinstance(cause, Malformed):
        return cause
    raise error
