"""The way to a pod's loopback, against a server that speaks the port-forward protocol as the kubelet does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest
from aiohttp import WSMsgType, web

from provisioning.drivers.kubernetes import tunnel
from provisioning.drivers.places import Connection

PORT = 8888
NAMED = PORT.to_bytes(2, "little")


@dataclass
class ApiServer:
    """Forwards to a server of the test's own, `pod`, which it takes for the pod's loopback."""

    url: str = ""
    pod: int = 0
    asked: list[web.Request] = field(default_factory=list)
    complaint: bytes = b""
    status: int = 101

    async def forward(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        if self.status != 101:
            return web.Response(status=self.status)
        socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
        await socket.prepare(request)
        for channel in (0, 1):
            await socket.send_bytes(bytes((channel,)) + NAMED)
        if self.complaint:
            await socket.send_bytes(b"\x01" + self.complaint)
            await asyncio.sleep(5)
            return socket
        reader, writer = await asyncio.open_connection("127.0.0.1", self.pod)
        down = asyncio.create_task(self._down(reader, socket))
        async for message in socket:
            assert message.type is WSMsgType.BINARY
            writer.write(message.data[1:])
            await writer.drain()
        down.cancel()
        writer.close()
        return socket

    async def _down(self, reader: asyncio.StreamReader, socket: web.WebSocketResponse) -> None:
        while chunk := await reader.read(50_000):
            await socket.send_bytes(b"\x00" + chunk)
        await socket.close()


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    server = ApiServer()
    app = web.Application()
    app.router.add_get("/api/v1/namespaces/ns/pods/pod-0/portforward", server.forward)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


@pytest.fixture
async def echo(api: ApiServer) -> AsyncIterator[list[str]]:
    """A pod that says what it hears, ends at "bye", and notes whoever hangs up."""
    ends: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(50_000):
            writer.write(chunk)
            if chunk.endswith(b"bye"):
                break
            await writer.drain()
        else:
            ends.append("hung up")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    api.pod = server.sockets[0].getsockname()[1]
    yield ends
    server.close()


def way_to(api: ApiServer, uid: str = "") -> Path:
    pod = {"metadata": {"name": "pod-0", "namespace": "ns", "uid": uid or str(uuid4())}}
    return tunnel.socket_to(Connection(api.url, token="secret"), pod, PORT)


class TestAWay:
    async def test_only_this_user_may_take_it(self, api: ApiServer) -> None:
        way = way_to(api)

        assert way.stat().st_mode & 0o777 == 0o600
        assert way.parent.stat().st_mode & 0o777 == 0o700

    async def test_it_is_the_same_for_the_same_pod_alone(self, api: ApiServer) -> None:
        assert way_to(api, "a") == way_to(api, "a")
        assert way_to(api, "a") != way_to(api, "b")

    async def test_bytes_pass_as_they_are(self, api: ApiServer, echo: list[str]) -> None:
        sent = bytes(range(256)) * 4_000
        reader, writer = await asyncio.open_unix_connection(way_to(api))

        writer.write(sent)
        heard = await asyncio.wait_for(reader.readexactly(len(sent)), 5)

        assert heard == sent
        assert api.asked[0].query_string == f"ports={PORT}"
        assert api.asked[0].headers["Authorization"] == "Bearer secret"
        writer.close()

    async def test_many_go_at_once_and_none_hears_another(self, api: ApiServer, echo: list[str]) -> None:
        way = way_to(api)

        async def talk(number: int) -> bytes:
            reader, writer = await asyncio.open_unix_connection(way)
            writer.write(f"{number} bye".encode())
            heard = await asyncio.wait_for(reader.read(), 5)
            writer.close()
            return heard

        heard = await asyncio.gather(*(talk(number) for number in range(30)))

        assert heard == [f"{number} bye".encode() for number in range(30)]

    async def test_each_sides_end_is_the_others(self, api: ApiServer, echo: list[str]) -> None:
        reader, writer = await asyncio.open_unix_connection(way_to(api))
        writer.write(b"well, bye")
        assert await asyncio.wait_for(reader.read(), 2) == b"well, bye"
        reader, writer = await asyncio.open_unix_connection(way_to(api))
        writer.write(b"?")
        await reader.readexactly(1)

        writer.close()

        async with asyncio.timeout(2):
            while not echo:
                await asyncio.sleep(0.01)

    async def test_a_complaint_of_the_node_ends_it(self, api: ApiServer) -> None:
        api.complaint = b"connection refused"
        reader, _ = await asyncio.open_unix_connection(way_to(api))

        assert await asyncio.wait_for(reader.read(), 2) == b""

    async def test_a_pod_that_is_gone_takes_its_way_with_it(self, api: ApiServer) -> None:
        api.status = 404
        way = way_to(api)
        reader, _ = await asyncio.open_unix_connection(way)

        assert await asyncio.wait_for(reader.read(), 2) == b""
        assert not way.exists()

    async def test_a_refusal_of_the_moment_leaves_it(self, api: ApiServer, echo: list[str]) -> None:
        api.status = 500
        way = way_to(api)
        reader, _ = await asyncio.open_unix_connection(way)
        assert await asyncio.wait_for(reader.read(), 2) == b""
        api.status = 101

        reader, writer = await asyncio.open_unix_connection(way)
        writer.write(b"bye")

        assert await asyncio.wait_for(reader.read(), 2) == b"bye"
