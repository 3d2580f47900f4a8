"""A real HTTP server on a unix socket that plays the workspace and tells what it saw."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from aiohttp import WSMsgType, web
from aiohttp.typedefs import Handler


class Workspace:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen: list[str] = []
        self.cancelled = asyncio.Event()
        self.socket_ended = asyncio.Event()
        self.answers: list[str] = []
        self.connections: set[int] = set()
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application(client_max_size=2**40)
        app.router.add_get("/ws", self._socket)
        app.router.add_get("/drip", self._drip)
        app.router.add_get("/big/{mib:[0-9]+}", self._big)
        app.router.add_get("/cookies", self._cookies)
        app.router.add_put("/digest", self._digest)
        app.router.add_route("*", "/{tail:.*}", self._echo)
        app.middlewares.append(self._count)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.UnixSite(self._runner, str(self.path)).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @web.middleware
    async def _count(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.transport is not None:
            self.connections.add(id(request.transport))
        return await handler(request)

    async def _echo(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.seen.append(f"{request.method} {request.raw_path}")
        seen = {name.lower(): value for name, value in request.headers.items()}
        return web.json_response({"path": request.raw_path, "headers": seen, "body": body.decode("latin-1")})

    async def _cookies(self, request: web.Request) -> web.Response:
        answer = web.Response(text="set")
        for cookie in (
            "_xsrf=1; Path=/",
            "wide=1; Domain=localhost; Path=/",
            "sessionid=stolen; Path=/",
            "__Host-csrftoken=stolen; Path=/; Secure",
            "steelyard_workspace=other; Path=/",
            "=sessionid=nameless",
            "SessionID=stolen",
        ):
            answer.headers.add("Set-Cookie", cookie)
        return answer

    async def _big(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        if "length" in request.query:
            answer.content_length = int(request.match_info["mib"]) * 2**20
        await answer.prepare(request)
        block = bytes(range(256)) * 4096
        for _ in range(int(request.match_info["mib"])):
            await answer.write(block)
        await answer.write_eof()
        return answer

    async def _drip(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        try:
            while True:
                await answer.write(b"drop\n")
                await asyncio.sleep(0.05)
        except (asyncio.CancelledError, ConnectionError):
            self.cancelled.set()
            raise

    async def _digest(self, request: web.Request) -> web.Response:
        digest, size = hashlib.sha256(), 0
        async for piece in request.content.iter_chunked(2**18):
            digest.update(piece)
            size += len(piece)
        return web.json_response({"sha256": digest.hexdigest(), "size": size})

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=("v1.steelyard",), max_msg_size=0)
        await socket.prepare(request)
        self.seen.append("socket")
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    await socket.send_str(message.data)
                elif message.type is WSMsgType.BINARY:
                    await socket.send_bytes(message.data)
        finally:
            self.socket_ended.set()
        return socket
