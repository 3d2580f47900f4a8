"""After a switch of protocols the proxy only carries bytes. An idle socket stays open for as long as both ends live.

Frames from the workspace are followed just closely enough to say a proper goodbye between two of them.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Final

GOING_AWAY: Final = 1001
ACCESS_ENDED: Final = 4403
_FAREWELL_SECONDS: Final = 2.0


class FrameEdge:
    """Tells whether a stream of WebSocket frames stands between two frames."""

    __slots__ = ("_head", "_left")

    def __init__(self) -> None:
        self._left = 0
        self._head = b""

    @property
    def between(self) -> bool:
        return not self._left and not self._head

    def feed(self, data: bytes) -> None:
        if self._head:
            data, self._head = self._head + data, b""
        at, end = self._left, len(data)
        while at < end:
            size = _frame_size(data, at)
            if size is None:
                self._head, at = data[at:], end
                break
            at += size
        self._left = at - end


def close_frame(code: int, reason: str) -> bytes:
    payload = code.to_bytes(2, "big") + reason.encode()[:123]
    return bytes((0x88, len(payload))) + payload


def _frame_size(data: bytes, at: int) -> int | None:
    """Bytes of the whole frame at this place; None while its head is incomplete."""
    if len(data) - at < 2:
        return None
    masked, length = data[at + 1] & 0x80, data[at + 1] & 0x7F
    extra = {126: 2, 127: 8}.get(length, 0)
    if len(data) - at < 2 + extra:
        return None
    if extra:
        length = int.from_bytes(data[at + 2 : at + 2 + extra], "big")
    return 2 + extra + (4 if masked else 0) + length


class Splice:
    """Two transports joined, either of which ends the other. `ended` is called once, when the client's is gone."""

    def __init__(
        self, client: asyncio.Transport, upstream: asyncio.Transport, *, stall: float, ended: Callable[[Splice], None]
    ) -> None:
        self._client, self._upstream = client, upstream
        self._ended = ended
        self._stall = stall
        self._edge = FrameEdge()
        self._over = False
        self.deadline = math.inf
        self.bytes_out = 0

    def join(self, from_client: bytes, from_upstream: bytes) -> None:
        """Carry what had already been read, then everything."""
        self._client.set_protocol(_ClientEnd(self))
        self._upstream.set_protocol(_UpstreamEnd(self))
        if from_upstream:
            self.from_upstream(from_upstream)
        if from_client:
            self.from_client(from_client)
        self._client.resume_reading()
        self._upstream.resume_reading()

    def from_client(self, data: bytes) -> None:
        if not self._over:
            self._upstream.write(data)

    def from_upstream(self, data: bytes) -> None:
        if not self._over:
            self._edge.feed(data)
            self.bytes_out += len(data)
            self._client.write(data)

    def client_full(self, full: bool) -> None:
        self.deadline = time.monotonic() + self._stall if full else math.inf
        _hold(self._upstream, full)

    def upstream_full(self, full: bool) -> None:
        _hold(self._client, full)

    def revoke(self) -> None:
        self.close(ACCESS_ENDED, "access ended")

    def close(self, code: int, reason: str) -> None:
        """Say goodbye if the stream stands between two frames; in the middle of one only the end itself can be said.

        What the client still sends is read and thrown away, since closing on unread bytes would destroy the goodbye.
        """
        if self._over:
            return
        self._over = True
        self._upstream.close()
        if self._edge.between:
            self._client.write(close_frame(code, reason))
        self._client.write_eof()
        self._client.resume_reading()
        asyncio.get_running_loop().call_later(_FAREWELL_SECONDS, self._client.abort)

    def expire(self) -> None:
        """The client has not taken what was sent to it for too long."""
        self._client.abort()

    def client_lost(self) -> None:
        if not self._over:
            self._over = True
            self._upstream.close()
        asyncio.get_running_loop().call_later(_FAREWELL_SECONDS, self._upstream.abort)
        self._ended(self)

    def upstream_lost(self) -> None:
        if not self._over:
            self._over = True
            self._client.close()
            asyncio.get_running_loop().call_later(_FAREWELL_SECONDS, self._client.abort)


class _ClientEnd(asyncio.Protocol):
    def __init__(self, splice: Splice) -> None:
        self._splice = splice

    def data_received(self, data: bytes) -> None:
        self._splice.from_client(data)

    def pause_writing(self) -> None:
        self._splice.client_full(True)

    def resume_writing(self) -> None:
        self._splice.client_full(False)

    def connection_lost(self, _: Exception | None) -> None:
        self._splice.client_lost()


class _UpstreamEnd(asyncio.Protocol):
    def __init__(self, splice: Splice) -> None:
        self._splice = splice

    def data_received(self, data: bytes) -> None:
        self._splice.from_upstream(data)

    def pause_writing(self) -> None:
        self._splice.upstream_full(True)

    def resume_writing(self) -> None:
        self._splice.upstream_full(False)

    def connection_lost(self, _: Exception | None) -> None:
        self._splice.upstream_lost()


def _hold(transport: asyncio.Transport, held: bool) -> None:
    if transport.is_closing():
        return
    if held:
        transport.pause_reading()
    else:
        transport.resume_reading()
