"""Input made to be read in two ways, or never to end."""

from __future__ import annotations

import asyncio
import time

import pytest

from portal.proxy.config import Limits
from tests.proxy.conftest import Proxy, StartProxy
from tests.proxy.workspace import Workspace

CHUNKED = "Transfer-Encoding: chunked\r\n"
SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: alpha.localhost\r\nCookie: steelyard_workspace=alice\r\n\r\n"
HEAD = "Host: alpha.localhost\r\nCookie: steelyard_workspace=alice\r\n"

CORPUS = {
    "length and chunks": f"POST / HTTP/1.1\r\n{HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": f"POST / HTTP/1.1\r\n{HEAD}{CHUNKED}Content-Length: 5\r\n\r\n0\r\n\r\n",
    "two lengths that differ": f"POST / HTTP/1.1\r\n{HEAD}Content-Length: 0\r\nContent-Length: 80\r\n\r\n",
    "two lengths that agree": f"POST / HTTP/1.1\r\n{HEAD}Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "a list of lengths": f"POST / HTTP/1.1\r\n{HEAD}Content-Length: 0, 80\r\n\r\n",
    "a signed length": f"POST / HTTP/1.1\r\n{HEAD}Content-Length: +5\r\n\r\nhello",
    "a negative length": f"POST / HTTP/1.1\r\n{HEAD}Content-Length: -1\r\n\r\n",
    "a length in hexadecimal": f"POST / HTTP/1.1\r\n{HEAD}Content-Length: 0x5\r\n\r\nhello",
    "a length beyond counting": f"POST / HTTP/1.1\r\n{HEAD}Content-Length: 99999999999999999999999\r\n\r\n",
    "an unknown encoding": f"POST / HTTP/1.1\r\n{HEAD}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked and then another": f"POST / HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "another and then chunked": f"POST / HTTP/1.1\r\n{HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": f"POST / HTTP/1.1\r\n{HEAD}{CHUNKED}{CHUNKED}\r\n0\r\n\r\n",
    "chunked behind a tab": f"POST / HTTP/1.1\r\n{HEAD}Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": f"POST / HTTP/1.0\r\n{HEAD}{CHUNKED}\r\n0\r\n\r\n",
    "a folded header": f"GET / HTTP/1.1\r\n{HEAD}X-Long: one\r\n two\r\n\r\n",
    "a space before the colon": f"POST / HTTP/1.1\r\n{HEAD}Content-Length : 5\r\n\r\nhello",
    "a bare line feed": f"GET / HTTP/1.1\n{HEAD}\r\n",
    "a bare carriage return": f"GET / HTTP/1.1\r\n{HEAD}X-A: b\rX-B: c\r\n\r\n",
    "a null": f"GET / HTTP/1.1\r\n{HEAD}X-A: b\x00c\r\n\r\n",
    "a chunk with a false size": f"POST / HTTP/1.1\r\n{HEAD}{CHUNKED}\r\n1\r\nab\r\n0\r\n\r\n",
    "a chunk with a size of nonsense": f"POST / HTTP/1.1\r\n{HEAD}{CHUNKED}\r\nzz\r\nab\r\n0\r\n\r\n",
    "a chunk with a space": f"POST / HTTP/1.1\r\n{HEAD}{CHUNKED}\r\n2 \r\nab\r\n0\r\n\r\n",
    "a chunk that ends in a line feed": f"POST / HTTP/1.1\r\n{HEAD}{CHUNKED}\r\n2\nab\r\n0\r\n\r\n",
    "a chunk beyond counting": f"POST / HTTP/1.1\r\n{HEAD}{CHUNKED}\r\n{'f' * 20}\r\nab\r\n0\r\n\r\n",
    "no host": "GET / HTTP/1.1\r\nCookie: steelyard_workspace=alice\r\n\r\n",
    "two hosts": f"GET / HTTP/1.1\r\n{HEAD}Host: beta.localhost\r\n\r\n",
    "a whole address": f"GET http://beta.localhost/ HTTP/1.1\r\n{HEAD}\r\n",
    "a tunnel": f"CONNECT beta.localhost:22 HTTP/1.1\r\n{HEAD}\r\n",
    "an asterisk": f"OPTIONS * HTTP/1.1\r\n{HEAD}\r\n",
    "a fragment": f"GET /#x HTTP/1.1\r\n{HEAD}\r\n",
    "another version": f"GET / HTTP/2.0\r\n{HEAD}\r\n",
    "an ancient version": f"GET / HTTP/0.9\r\n{HEAD}\r\n",
    "no version": "GET /\r\n\r\n",
    "an unknown expectation": f"POST / HTTP/1.1\r\n{HEAD}Expect: miracles\r\nContent-Length: 0\r\n\r\n",
    "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01",
}


class TestAmbiguousRequests:
    @pytest.mark.parametrize("request_text", CORPUS.values(), ids=CORPUS.keys())
    async def test_are_refused_and_nothing_behind_them_is_read(
        self, proxy: Proxy, workspace: Workspace, request_text: str
    ) -> None:
        said = await proxy.raw((request_text + SMUGGLED).encode("latin-1"))

        assert said.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 405 ", b"HTTP/1.1 417 ", b"HTTP/1.1 505 "))
        assert said.count(b"HTTP/1.1 ") == 1
        assert workspace.seen == []

    async def test_an_upgrade_to_something_else_hides_no_request(self, proxy: Proxy, workspace: Workspace) -> None:
        upgrade = f"GET /plain HTTP/1.1\r\n{HEAD}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n"

        said = await proxy.raw((upgrade + SMUGGLED).encode())

        assert said.count(b"HTTP/1.1 200") == 1
        assert workspace.seen == ["GET /plain"]
        assert b'"upgrade"' not in said

    async def test_a_socket_that_is_refused_hides_no_request(self, proxy: Proxy, workspace: Workspace) -> None:
        """The workspace answers 200 instead of switching: what follows is not ours to read as HTTP."""
        upgrade = f"GET /no-socket HTTP/1.1\r\n{HEAD}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

        said = await proxy.raw((upgrade + SMUGGLED).encode())

        assert said.count(b"HTTP/1.1 ") == 1
        assert workspace.seen == ["GET /no-socket"]


class TestSize:
    async def test_a_head_too_large_is_refused(self, start_proxy: StartProxy) -> None:
        proxy = await start_proxy(limits=Limits(head_bytes=4096))

        one = await proxy.raw(f"GET / HTTP/1.1\r\n{HEAD}X-A: {'a' * 5000}\r\n\r\n".encode())
        endless = await proxy.raw(f"GET / HTTP/1.1\r\n{HEAD}X-A: ".encode() + b"a" * 600_000)

        assert one.startswith(b"HTTP/1.1 431 ")
        assert endless.startswith(b"HTTP/1.1 431 ")

    async def test_trailers_do_not_go_on_for_ever(self, start_proxy: StartProxy) -> None:
        proxy = await start_proxy(limits=Limits(head_bytes=4096))
        chunked = f"POST / HTTP/1.1\r\n{HEAD}{CHUNKED}\r\n2\r\nab\r\n0\r\n".encode()

        one = await proxy.raw(chunked + b"X-A: " + b"a" * 900_000)
        many = await proxy.raw(chunked + b"X-A: a\r\n" * 100_000)

        assert one.startswith(b"HTTP/1.1 431 ")
        assert many.startswith(b"HTTP/1.1 431 ")

    async def test_too_many_headers_are_refused(self, proxy: Proxy) -> None:
        said = await proxy.raw(f"GET / HTTP/1.1\r\n{HEAD}".encode() + b"X-A: a\r\n" * 200 + b"\r\n")

        assert said.startswith(b"HTTP/1.1 431 ")

    async def test_an_address_too_long_is_refused(self, proxy: Proxy) -> None:
        said = await proxy.raw(f"GET /{'a' * 20_000} HTTP/1.1\r\n{HEAD}\r\n".encode())

        assert said.startswith(b"HTTP/1.1 414 ")

    async def test_too_many_connections_are_told_so(self, start_proxy: StartProxy) -> None:
        proxy = await start_proxy(limits=Limits(connections=2))
        held = [await asyncio.open_connection("127.0.0.1", proxy.port) for _ in range(2)]
        await asyncio.sleep(0.05)

        said = await proxy.raw(b"")

        assert said.startswith(b"HTTP/1.1 503 ")
        for _, writer in held:
            writer.close()


class TestSlowClients:
    async def test_a_head_that_drips_is_ended(self, proxy: Proxy) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        began = time.monotonic()
        writer.write(b"GET / HTTP/1.1\r\n")

        async def drip() -> None:
            while True:
                writer.write(b"X: y\r\n")
                await asyncio.sleep(0.05)

        dripping = asyncio.create_task(drip())
        said = await asyncio.wait_for(reader.read(), 5)
        dripping.cancel()

        assert said.startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began < 4
        writer.close()

    async def test_a_body_that_stops_is_ended(self, proxy: Proxy) -> None:
        said = await proxy.raw(f"POST / HTTP/1.1\r\n{HEAD}Content-Length: 10\r\n\r\nabc".encode(), wait=5)

        assert said.startswith(b"HTTP/1.1 408 ")

    async def test_a_connection_that_says_nothing_is_ended(self, proxy: Proxy) -> None:
        began = time.monotonic()

        assert await proxy.raw(b"", wait=5) == b""

        assert time.monotonic() - began < 4

    async def test_a_client_that_does_not_read_is_ended(self, proxy: Proxy, workspace: Workspace) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", proxy.port, limit=1024)
        writer.write(f"GET /big/100 HTTP/1.1\r\n{HEAD}\r\n".encode())

        async with asyncio.timeout(5):
            while '"/big/100"' not in proxy.log.getvalue():
                await asyncio.sleep(0.05)

        writer.close()
