"""A workspace runs whatever its owner likes; what it answers is no more to be trusted than what a client sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from portal.proxy.gate import Upstream
from tests.proxy.conftest import Proxy

COOKIE = "steelyard_workspace=alice"
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Script:
    """Answers each request on a socket with the next of the given bytes; an empty one ends the connection."""

    def __init__(self, *answers: bytes, ends: bool) -> None:
        self.answers = list(answers)
        self.ends = ends
        self.requests: list[bytes] = []
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self.answers:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                answer = self.answers.pop(0)
                if not answer:
                    return
                writer.write(answer)
            if not self.ends:
                await reader.read(1)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


Play = Callable[..., Awaitable[Script]]


@pytest.fixture
async def play(proxy: Proxy) -> AsyncIterator[Play]:
    servers: list[asyncio.Server] = []

    async def play(*answers: bytes, ends: bool = False) -> Script:
        script = Script(*answers, ends=ends)
        server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
        servers.append(server)
        port = server.sockets[0].getsockname()[1]
        proxy.gate.let_in("alpha", "alice", Upstream(pass_key="", host="127.0.0.1", port=port))
        return script

    yield play
    for server in servers:
        server.close()


class TestAnswers:
    @pytest.mark.parametrize(
        "answer",
        [
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok",
            b"HTTP/1.1 200 OK\r\nX-A: b\nSet-Cookie: sessionid=1\r\n\r\n",
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
            b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 400_000 + b"\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 2_000_000,
            b"HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n" * 40_000,
            b"garbage\r\n\r\n",
        ],
    )
    async def test_that_cannot_be_read_are_not_passed_on(self, proxy: Proxy, play: Play, answer: bytes) -> None:
        await play(answer)

        seen = await proxy.get("/")

        assert seen.status == 502
        assert not seen.header("Set-Cookie")

    async def test_nobody_asked_for_reach_nobody(self, proxy: Proxy, play: Play) -> None:
        script = await play(GOOD + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged", GOOD, GOOD)

        bodies = [(await proxy.get("/")).body for _ in range(3)]

        assert bodies == [b"ok"] * 3
        assert script.connections == 2

    async def test_to_head_with_a_body_do_not_shift_the_next_answer(self, proxy: Proxy, play: Play) -> None:
        await play(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged", GOOD)

        head = await proxy.send("HEAD", "/", proxy.headers())
        after = await proxy.get("/")

        assert (head.header("Content-Length"), head.body) == ("6", b"")
        assert after.body == b"ok"

    async def test_cut_short_are_seen_to_be_cut_short(self, proxy: Proxy, play: Play) -> None:
        await play(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", b"")

        said = await proxy.raw(f"GET / HTTP/1.1\r\nHost: alpha.localhost\r\nCookie: {COOKIE}\r\n\r\n".encode() * 2)

        assert b"content-length: 100" in said
        assert said.endswith(b"half")

    async def test_until_the_connection_ends_are_whole(self, proxy: Proxy, play: Play) -> None:
        await play(b"HTTP/1.1 200 OK\r\n\r\nall there is", ends=True)

        assert (await proxy.get("/")).body == b"all there is"

    async def test_interim_ones_are_kept_back(self, proxy: Proxy, play: Play) -> None:
        await play(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + GOOD)

        answer = await proxy.get("/")

        assert (answer.status, answer.body, answer.header("Link")) == (200, b"ok", "")


class TestRepetition:
    async def test_what_may_be_repeated_is_sent_again(self, proxy: Proxy, play: Play) -> None:
        script = await play(GOOD, b"", GOOD)

        assert (await proxy.get("/")).status == 200
        assert (await proxy.get("/")).status == 200

        assert len(script.requests) == 3

    async def test_what_changes_something_is_sent_once(self, proxy: Proxy, play: Play) -> None:
        script = await play(GOOD, b"", GOOD)

        assert (await proxy.get("/")).status == 200
        assert (await proxy.send("POST", "/", proxy.headers(), b"")).status == 502

        assert len(script.requests) == 2
