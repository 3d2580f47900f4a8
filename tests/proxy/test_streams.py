"""Logs and events that the proxy streams itself: entered by a code, shared, bounded, and ended with the permission."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from yarl import URL

from portal.proxy.config import Limits
from portal.proxy.feeds import Feed
from portal.proxy.gate import StreamKind
from tests.proxy.conftest import QUICK, Proxy, StartProxy
from tests.proxy.memory_gate import Teller

EVENTS = StreamKind.EVENTS
HEAD = "Host: alpha.localhost\r\n"


@asynccontextmanager
async def following(
    proxy: Proxy, code: str, kind: StreamKind = StreamKind.LOGS
) -> AsyncIterator[aiohttp.ClientResponse]:
    address = URL(proxy.url(f"/_steelyard/{kind}?code={code}"), encoded=True)
    async with proxy.session.get(address, headers=proxy.headers(cookie=None)) as answer:
        yield answer


async def line(answer: aiohttp.ClientResponse) -> bytes:
    return await asyncio.wait_for(answer.content.readline(), 2)


async def until(truth, seconds: float = 3.0) -> None:
    async with asyncio.timeout(seconds):
        while not truth():
            await asyncio.sleep(0.02)


class TestLogs:
    async def test_come_line_by_line_and_end_with_the_run(self, proxy: Proxy) -> None:
        teller = proxy.gate.invite("once")
        teller.say(b"one\n", b"two\n")

        async with following(proxy, "once") as answer:
            first = [await line(answer), await line(answer)]
            teller.say(b"three\n")
            third = await line(answer)
            teller.say(b"four\n")
            teller.over = True
            rest = await asyncio.wait_for(answer.content.read(), 2)

        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
        assert answer.headers["Transfer-Encoding"] == "chunked"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in answer.headers["Content-Security-Policy"]
        assert "Set-Cookie" not in answer.headers
        assert [*first, third, rest] == [b"one\n", b"two\n", b"three\n", b"four\n"]

    async def test_begin_with_as_many_as_were_asked_for(self, proxy: Proxy) -> None:
        teller = proxy.gate.invite("once", tail=2)
        teller.say(*(b"%d\n" % number for number in range(10)))
        teller.over = True

        async with following(proxy, "once") as answer:
            assert await answer.content.read() == b"8\n9\n"

    async def test_the_connection_serves_on_afterwards(self, proxy: Proxy) -> None:
        proxy.gate.invite("once").over = True
        ask = f"GET /_steelyard/logs?code=once HTTP/1.1\r\n{HEAD}\r\nGET /_steelyard/logs?code=x HTTP/1.1\r\n{HEAD}\r\n"

        said = await proxy.raw(ask.encode(), wait=0.5)

        assert said.count(b"HTTP/1.1 200") == 1
        assert b"\r\n\r\n0\r\n\r\nHTTP/1.1 410" in said

    async def test_an_old_client_gets_them_without_chunks(self, proxy: Proxy) -> None:
        teller = proxy.gate.invite("once")
        teller.say(b"one\n")
        teller.over = True

        said = await proxy.raw(f"GET /_steelyard/logs?code=once HTTP/1.0\r\n{HEAD}\r\n".encode())

        assert said.endswith(b"\r\n\r\none\n")
        assert b"chunked" not in said

    async def test_a_source_that_fails_for_a_while_is_asked_again(self, proxy: Proxy) -> None:
        teller = proxy.gate.invite("once")
        teller.fails = True

        async with following(proxy, "once") as answer:
            await until(lambda: teller.asked > 2)
            teller.fails = False
            teller.say(b"one\n")
            assert await line(answer) == b"one\n"


class TestEvents:
    async def test_come_as_they_are_with_signs_of_life_between(self, proxy: Proxy) -> None:
        teller = proxy.gate.invite("once", kind=EVENTS)
        teller.say(b"id: 1\nevent: workload.launched\ndata: {}\n\n")

        async with following(proxy, "once", EVENTS) as answer:
            told = [await line(answer) for _ in range(4)]
            alive = await line(answer)

        assert answer.headers["Content-Type"] == "text/event-stream"
        assert told == [b"id: 1\n", b"event: workload.launched\n", b"data: {}\n", b"\n"]
        assert alive == b": still here\n"


class TestCode:
    async def test_works_once_and_for_its_own_purpose(self, proxy: Proxy) -> None:
        proxy.gate.invite("once").over = True
        proxy.gate.codes["alpha", "door"] = "alice"

        asked = [
            "/_steelyard/events?code=once",
            "/_steelyard/enter?code=once",
            "/_steelyard/logs?code=door",
            "/_steelyard/logs?code=once",
            "/_steelyard/logs?code=once",
            "/_steelyard/logs",
            "/_steelyard/metrics?code=once",
        ]
        seen = [(await proxy.get(path, cookie=None)).status for path in asked]

        assert seen == [410, 410, 410, 200, 410, 410, 404]
        assert ("alpha", "door") in proxy.gate.codes

    async def test_works_at_its_own_address_alone(self, proxy: Proxy) -> None:
        proxy.gate.invite("once")

        assert (await proxy.get("/_steelyard/logs?code=once", label="beta", cookie=None)).status == 410

    async def test_only_get_spends_it(self, proxy: Proxy) -> None:
        proxy.gate.invite("once")

        for method in ("HEAD", "POST"):
            answer = await proxy.send(method, "/_steelyard/logs?code=once", proxy.headers(cookie=None))
            assert answer.status == 405
        assert proxy.gate.invitations

    async def test_is_never_logged(self, proxy: Proxy) -> None:
        proxy.gate.invite("secret-code").over = True

        await proxy.get("/_steelyard/logs?code=secret-code", cookie=None)
        await until(proxy.log.getvalue)

        assert "secret-code" not in proxy.log.getvalue()
        logged = json.loads(proxy.log.getvalue().splitlines()[0])
        assert (logged["path"], logged["status"]) == ("/_steelyard/logs", 200)

    async def test_a_gatekeeper_that_does_not_answer_is_503(self, proxy: Proxy) -> None:
        proxy.gate.invite("once")
        proxy.gate.silent = True

        assert (await proxy.get("/_steelyard/logs?code=once", cookie=None)).status == 503


class TestPermission:
    async def test_when_it_ends_the_stream_is_cut(self, proxy: Proxy) -> None:
        """Cut, not ended: nobody shall take it for the end of the run."""
        teller = proxy.gate.invite("once")
        teller.say(b"one\n")

        async with following(proxy, "once") as answer:
            await line(answer)
            proxy.gate.ended.add("stream-once")
            began = time.monotonic()
            with pytest.raises(aiohttp.ClientError):
                await asyncio.wait_for(answer.content.read(), 3)

        assert time.monotonic() - began < 4 * QUICK.recheck
        asked = teller.asked
        await asyncio.sleep(0.2)
        assert teller.asked <= asked + 1

    async def test_a_gatekeeper_gone_for_too_long_ends_it(self, proxy: Proxy) -> None:
        proxy.gate.invite("once").say(b"one\n")

        async with following(proxy, "once") as answer:
            await line(answer)
            proxy.gate.silent = True
            with pytest.raises(aiohttp.ClientError):
                await asyncio.wait_for(answer.content.read(), 5)


class TestSharing:
    async def test_a_workload_is_asked_once_however_many_listen(self, proxy: Proxy) -> None:
        teller = proxy.gate.invite("one")
        proxy.gate.invite("two", person="bob")
        teller.say(b"before\n")

        async with following(proxy, "one") as first:
            assert await line(first) == b"before\n"
            async with following(proxy, "two") as second:
                assert await line(second) == b"before\n"
                teller.say(b"after\n")
                assert [await line(first), await line(second)] == [b"after\n"] * 2
        await asyncio.sleep(0.1)

        assert proxy.gate.sources == 1
        asked = teller.asked
        await asyncio.sleep(0.2)
        assert teller.asked == asked

    async def test_a_person_has_so_many_and_gets_a_seat_back(self, start_proxy: StartProxy) -> None:
        proxy = await start_proxy(limits=Limits(streams=1))
        teller = proxy.gate.invite("one")
        teller.say(b"x\n")
        for code, person in (("two", "alice"), ("three", "bob"), ("four", "alice")):
            proxy.gate.invite(code, person=person)

        async with following(proxy, "one") as first:
            await line(first)
            refused = await proxy.get("/_steelyard/logs?code=two", cookie=None)
            async with following(proxy, "three") as other:
                assert other.status == 200
        await until(lambda: '"status":200' in proxy.log.getvalue())
        async with following(proxy, "four") as again:
            assert again.status == 200

        assert refused.status == 429
        assert json.loads(refused.body)["code"] == "too_many_streams"
        assert refused.header("Retry-After")


class TestSlowReaders:
    async def test_are_told_what_they_missed_and_hold_nothing_up(self, start_proxy: StartProxy) -> None:
        proxy = await start_proxy(limits=Limits(feed_bytes=100_000))
        teller = proxy.gate.invite("slow")
        proxy.gate.invite("quick")
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port, limit=1024)
        writer.write(f"GET /_steelyard/logs?code=slow HTTP/1.1\r\n{HEAD}\r\n".encode())

        async with following(proxy, "quick") as quick:
            for number in range(30):
                teller.say(*(b"%06d %s\n" % (number, b"x" * 990) for _ in range(1000)))
                while b"%06d" % number != (await line(quick))[:6]:
                    pass
        teller.over = True
        said = b""
        while piece := await asyncio.wait_for(reader.read(65536), 5):
            said += piece
            if said.endswith(b"0\r\n\r\n"):
                break
        writer.close()

        assert b"[some lines were left out here]" in said
        assert len(said) < 20_000_000

    async def test_who_never_reads_is_ended(self, proxy: Proxy) -> None:
        teller = proxy.gate.invite("stuck")
        _, writer = await asyncio.open_connection("127.0.0.1", proxy.port, limit=1024)
        writer.write(f"GET /_steelyard/logs?code=stuck HTTP/1.1\r\n{HEAD}\r\n".encode())

        async with asyncio.timeout(8):
            while '"/_steelyard/logs"' not in proxy.log.getvalue():
                teller.say(*(b"x" * 10_000 + b"\n" for _ in range(200)))
                await asyncio.sleep(0.05)

        writer.close()


class TestFeed:
    async def test_holds_a_bounded_end(self) -> None:
        teller = Teller([b"x" * 999 + b"\n" for _ in range(5000)], over=True)
        feed = Feed(teller, b"[left out]\n", QUICK, Limits(feed_bytes=10_000, feed_items=100))

        await feed.run()
        heard = feed.after(0)

        assert heard.missed
        assert len(heard.data) == 10_000
        assert feed.last(3) == heard.position - 3

    async def test_says_what_its_source_missed(self) -> None:
        feed = Feed(Teller([b"x\n"], over=True, missed=True), b"[left out]\n", QUICK, Limits())

        await feed.run()

        assert feed.after(0).data == b"[left out]\nx\n"


class TestTermination:
    async def test_streams_are_cut_at_once(self, proxy: Proxy) -> None:
        proxy.gate.invite("once").say(b"one\n")

        async with following(proxy, "once") as answer:
            await line(answer)
            began = time.monotonic()
            await proxy.server.stop()
            with pytest.raises(aiohttp.ClientError):
                await answer.content.read()

        assert time.monotonic() - began < QUICK.drain
