"""A workspace that costs next to nothing: answers every request with the same kilobyte.

`python -m bench.proxy_workspace PORT SOCKET` listens on both, so that proxies can be compared before the same thing.
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import uvloop

BODY = b"x" * 1024
ANSWER = (
    b'HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: application/json\r\nEtag: "0123456789abcdef"\r\n'
    b"Vary: Accept\r\nX-Content-Type-Options: nosniff\r\nContent-Security-Policy: frame-ancestors 'self'\r\n"
    b"Content-Length: %d\r\n\r\n" % len(BODY)
) + BODY


class Workspace(asyncio.Protocol):
    def __init__(self) -> None:
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._head += data
        while b"\r\n\r\n" in self._head:
            self._head = self._head.partition(b"\r\n\r\n")[2]
            self._transport.write(ANSWER)


async def serve(port: int, path: str) -> None:
    loop = asyncio.get_running_loop()
    await loop.create_server(Workspace, "127.0.0.1", port)
    await loop.create_unix_server(Workspace, path)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), sys.argv[2]))
