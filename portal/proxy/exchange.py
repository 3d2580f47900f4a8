"""One request on its way: decided, admitted, forwarded, answered.

Everything on the common path (a fresh verdict, an open connection) happens in plain callbacks without a task; only
asking the gatekeeper and opening a connection are awaited.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Final, Protocol

from portal.proxy import pages, routing
from portal.proxy.access_log import Line
from portal.proxy.entrance import enter
from portal.proxy.gate import Listener, Refusal, Upstream
from portal.proxy.heads import Body, RequestHead, ResponseHead, request_bytes, response_bytes
from portal.proxy.listening import listen
from portal.proxy.pages import Answer
from portal.proxy.reader import IncomingRequest
from portal.proxy.routing import Admit, Enter, Listen
from portal.proxy.splice import Splice
from portal.proxy.state import State
from portal.proxy.upstream import UpstreamConnection, address_of
from portal.proxy.verdicts import Verdict

logger = logging.getLogger(__name__)

_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_BARE: Final = frozenset({"", "/"})


class ClientSide(Protocol):
    address: str

    @property
    def transport(self) -> asyncio.Transport: ...

    def write(self, data: bytes) -> None: ...

    def abort(self) -> None: ...

    def hold_reading(self, held: bool) -> None: ...

    def exchange_ended(self, *, keep_alive: bool) -> None: ...

    def hand_over(self, splice: Splice, from_upstream: bytes) -> None: ...


class Exchange:
    __slots__ = (
        "_admit",
        "_began_at",
        "_bytes_out",
        "_chunked",
        "_client",
        "_connection",
        "_ended",
        "_head",
        "_keep_alive",
        "_label",
        "_out",
        "_pass_key",
        "_paused",
        "_retried",
        "_room",
        "_state",
        "_status",
        "_task",
        "_upstream",
        "request",
    )

    def __init__(self, state: State, client: ClientSide, request: IncomingRequest) -> None:
        self.request = request
        self._state = state
        self._client = client
        self._head: RequestHead = request.head
        self._keep_alive = request.head.keep_alive and not state.draining
        self._began_at = time.monotonic()
        self._admit: Admit | None = None
        self._label: str | None = None
        self._upstream: Upstream | None = None
        self._pass_key: str | None = None
        self._room: asyncio.Event | None = None
        """Set while a client that is streamed to takes more."""
        self._connection: UpstreamConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._status = 0
        self._out: list[bytes] = []
        self._bytes_out = 0
        self._chunked = self._paused = self._retried = self._ended = False

    def begin(self) -> None:
        decision = routing.decide(self._head, self._state.config)
        if isinstance(decision, Admit):
            self._label, self._admit = decision.label, decision
            verdict = self._state.verdicts.known((decision.label, decision.cookies))
            if verdict is None:
                self._wait_for(self._ask(decision))
            else:
                self._judged(decision, verdict)
        elif isinstance(decision, Enter):
            self._label = decision.label
            self._wait_for(self._enter(decision))
        elif isinstance(decision, Listen):
            self._label = decision.label
            self._wait_for(self._listen(decision))
        elif isinstance(decision, Answer):
            self._answer(decision)
        else:
            self._answer(pages.health(draining=self._state.draining))

    # --- what the client's side tells

    def client_lost(self) -> None:
        if not self._ended:
            self._finish(self._status or 499)

    def client_full(self, full: bool) -> None:
        if self._room is not None:
            self._room.clear() if full else self._room.set()
        if self._connection is None or self._connection.transport.is_closing():
            return
        self._paused = full
        if full:
            self._connection.transport.pause_reading()
        else:
            self._connection.transport.resume_reading()

    def request_broken(self, answer: Answer) -> None:
        """The rest of the request cannot be read."""
        self._keep_alive = False
        self._break_off(answer)

    def revoke(self) -> None:
        label = self._label or ""
        self._break_off(routing.enter_again(self._head, label, self._state.config))

    def body_piece(self, piece: bytes) -> None:
        if self._connection is not None:
            if self._head.body is Body.CHUNKED:
                piece = b"%x\r\n%b\r\n" % (len(piece), piece)
            self._connection.transport.write(piece)

    def body_ended(self) -> None:
        if self._connection is not None and self._head.body is Body.CHUNKED:
            self._connection.transport.write(b"0\r\n\r\n")

    # --- what the workspace's side tells

    def response_began(self, head: ResponseHead) -> None:
        self._status = head.status
        if head.body is Body.CHUNKED or head.body is Body.UNTIL_CLOSE:
            self._chunked = self._head.version == "1.1"
            self._keep_alive = self._keep_alive and self._chunked
        private = self._state.private_cookies
        self._out.append(response_bytes(head, chunked=self._chunked, close=not self._keep_alive, private=private))

    def response_piece(self, piece: bytes) -> None:
        self._bytes_out += len(piece)
        self._out.append(b"%x\r\n%b\r\n" % (len(piece), piece) if self._chunked else piece)

    def response_read(self) -> None:
        """Write what one read has brought at once: a short answer is one write."""
        out = self._out
        if out:
            self._client.write(out[0] if len(out) == 1 else b"".join(out))
            out.clear()

    def response_ended(self) -> None:
        connection, self._connection = self._connection, None
        if self._chunked:
            self._out.append(b"0\r\n\r\n")
        self.response_read()
        if connection is not None and not connection.transport.is_closing():
            if self._paused:
                connection.transport.resume_reading()
            if not self.request.complete:
                connection.transport.close()
        self._finish(self._status)

    def response_switched(self, head: ResponseHead, rest: bytes) -> None:
        connection, self._connection = self._connection, None
        upstream = self._upstream
        if connection is None or upstream is None:
            return
        self._client.write(response_bytes(head, chunked=False, close=False, private=self._state.private_cookies))
        stall = self._state.config.clocks.stall
        splice = Splice(self._client.transport, connection.transport, stall=stall, ended=self._splice_ended)
        self._state.splices.add(splice)
        self._state.verdicts.hold(upstream.pass_key, splice)
        self._state.verdicts.release(upstream.pass_key, self)
        self._ended = True
        self._client.hand_over(splice, rest)

    def response_lost(self) -> None:
        connection, self._connection = self._connection, None
        if self._status:
            self._break_off(pages.plain(502, "workspace_broke_off"))
            return
        reused = connection is not None and connection.used
        if reused and self._head.repeatable and not self._retried and self._upstream is not None:
            self._retried = True
            self._wait_for(self._connect(self._upstream))
            return
        self._forget_verdict()
        self._answer(routing.told(pages.BROKE_OFF, self._head, self._state.config))

    def upstream_full(self) -> None:
        self._client.hold_reading(True)

    def upstream_drained(self) -> None:
        self._client.hold_reading(False)

    # --- the way there

    async def _ask(self, admit: Admit) -> None:
        self._judged(admit, await self._state.verdicts.ask((admit.label, admit.cookies)))

    async def _enter(self, wish: Enter) -> None:
        self._answer(await enter(self._state.gate, self._state.config, wish, self._head))

    async def _listen(self, wish: Listen) -> None:
        refusal = await listen(self._state.gate, self._state.feeds, self._state.config, wish, self._head, self)
        if isinstance(refusal, Answer):
            self._answer(refusal)

    # --- what a stream tells

    def stream_began(self, listener: Listener, content_type: str) -> None:
        self._hold(listener.pass_key)
        self._status, self._chunked = 200, self._head.version == "1.1"
        self._keep_alive = self._keep_alive and self._chunked
        self._room = asyncio.Event()
        self._room.set()
        self._client.write(pages.stream_head(content_type, chunked=self._chunked, close=not self._keep_alive))

    async def stream_piece(self, piece: bytes) -> None:
        """Returns when the client takes more."""
        self.response_piece(piece)
        self.response_read()
        if self._room is not None:
            await self._room.wait()

    def stream_ended(self, *, whole: bool) -> None:
        """What is not whole ends without the last chunk, so that nobody takes it for the end of the run."""
        if self._ended:
            return
        if whole:
            self.response_ended()
        else:
            self._break_off(pages.plain(503, "going_away"))

    def _judged(self, admit: Admit, verdict: Verdict) -> None:
        if isinstance(verdict, Refusal):
            self._answer(routing.refused(verdict, self._head, admit.label, self._state.config))
        elif verdict.base_path not in _BARE and self._head.path == "/":
            self._answer(pages.redirect(verdict.base_path, code="base_path"))
        else:
            self._forward(verdict)

    def _forward(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._hold(upstream.pass_key)
        connection = self._state.pool.take(address_of(upstream), repeatable=self._head.repeatable)
        if connection is None:
            self._wait_for(self._connect(upstream))
        else:
            self._send(connection)

    async def _connect(self, upstream: Upstream) -> None:
        try:
            connection = await self._state.pool.connect(address_of(upstream))
        except OSError:
            self._forget_verdict()
            self._answer(routing.told(pages.NOT_ANSWERING, self._head, self._state.config))
            return
        if self._ended:
            connection.transport.close()
        else:
            self._send(connection)

    def _send(self, connection: UpstreamConnection) -> None:
        self._connection = connection
        head = self._head
        data = request_bytes(head, scheme=self._state.config.scheme, private=self._state.private_cookies)
        connection.begin(self, data, to_head=head.method == b"HEAD", expects_switch=head.websocket)
        if head.body is Body.NONE:
            return
        if b"expect" in head.notable and not self.request.complete:
            self._client.write(_CONTINUE)
        self.request.hand_to(self)
        self._client.hold_reading(False)

    # --- the end

    def _wait_for(self, work: Coroutine[None, None, None]) -> None:
        self._task = self._state.spawn(self._guarded(work))

    async def _guarded(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except Exception:
            logger.exception("an exchange failed")
            self._keep_alive = False
            self._break_off(pages.plain(500, "internal_error"))

    def _answer(self, answer: Answer) -> None:
        if self._ended:
            return
        if b"expect" in self._head.notable and not self.request.complete:
            self._keep_alive = False
        self._bytes_out = len(answer.body)
        self._client.write(answer.as_bytes(close=not self._keep_alive, with_body=self._head.method != b"HEAD"))
        self._finish(answer.status)

    def _break_off(self, answer: Answer) -> None:
        """Say it, if nothing has been said yet; the middle of an answer can only be cut."""
        if self._ended:
            return
        if self._status:
            self._client.abort()
            self._finish(self._status)
        else:
            self._answer(answer)

    def _finish(self, status: int) -> None:
        self._ended = True
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()
        if self._pass_key is not None:
            self._state.verdicts.release(self._pass_key, self)
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        self.request.drop()
        self._log(status, self._bytes_out)
        self._client.exchange_ended(keep_alive=self._keep_alive)

    def _hold(self, pass_key: str) -> None:
        self._pass_key = pass_key
        self._state.verdicts.hold(pass_key, self)

    def _forget_verdict(self) -> None:
        if self._admit is not None:
            self._state.verdicts.forget((self._admit.label, self._admit.cookies))

    def _splice_ended(self, splice: Splice) -> None:
        self._state.splices.discard(splice)
        if self._upstream is not None:
            self._state.verdicts.release(self._upstream.pass_key, splice)
        self._log(101, splice.bytes_out)

    def _log(self, status: int, bytes_out: int) -> None:
        elapsed = (time.monotonic() - self._began_at) * 1000
        head = self._head
        method = head.method.decode("ascii")
        self._state.log.write(Line(self._client.address, self._label, method, head.path, status, bytes_out, elapsed))
