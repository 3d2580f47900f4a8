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
    __slots__ = (
        "_began",
        "_found",
        "_headers",
        "_limits",
        "_parser",
        "_partial",
        "_reading",
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
        self._reading = 0
        self._partial = 0
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
        in_head_before = self.in_head
        self._reading = len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self.switched = True
            self.rest = data[upgrade.args[0] :]
        except httptools.HttpParserCallbackError as error:
            self.fault = _malformed_behind(error)
        except httptools.HttpParserError:
            self.fault = Malformed(400, "bad_request")
        if in_head_before and self.in_head:
            self._count_partial(len(data))
        found, self._found = self._found, []
        return found

    def _count_partial(self, size: int) -> None:
        self._partial += size
        if self._partial > self._limits.head_bytes:
            self.fault = Malformed(431, "head_too_large")

    def on_message_begin(self) -> None:
        self._began = True
        self._headers = []
        self._target = b""
        self._partial = 0

    def on_url(self, piece: bytes) -> None:
        self._target += piece
        if len(self._target) > self._limits.target_bytes:
            raise Malformed(414, "target_too_long")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._request is not None:
            return  # a trailer: nobody asked for it
        if len(self._headers) >= self._limits.headers:
            raise Malformed(431, "head_too_large")
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if len(self._found) >= self._limits.pipelined:
            raise Malformed(400, "too_many_pipelined")
        self._check_size()
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

    def _check_size(self) -> None:
        """Count only where what has been read could be too much at all."""
        most = self._limits.head_bytes
        if self._partial + self._reading > most and sum(len(name) + len(value) for name, value in self._headers) > most:
            raise Malformed(431, "head_too_large")

    def on_body(self, piece: bytes) -> None:
        if self._request is not None:
            self._request.receive(piece)

    def on_message_complete(self) -> None:
        self._began = False
        request, self._request = self._request, None
        if request is not None:
            request.finish()


def _malformed_behind(error: Exception) -> Malformed:
    cause = error.__context__ or error.__cause__
    if isinstance(cause, Malformed):
        return cause
    raise error
