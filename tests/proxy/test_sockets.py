from __future__ import annotations

import asyncio
import dataclasses
import random
import struct
import time

import aiohttp
import pytest

from portal.proxy.splice import FrameEdge, close_frame
from tests.proxy.conftest import QUICK, Proxy, StartProxy
from tests.proxy.workspace import Workspace


async def connect(proxy: Proxy, **more: str) -> aiohttp.ClientWebSocketResponse:
    origin = {"Origin": f"http://alpha.localhost:{proxy.port}"} | more
    return await proxy.session.ws_connect(
        proxy.url("/ws"), headers=proxy.headers() | origin, protocols=("v1.steelyard",), max_msg_size=0
    )


class TestSockets:
    async def test_carry_text_and_large_messages_and_a_subprotocol(self, proxy: Proxy) -> None:
        socket = await connect(proxy)
        large = random.Random(1).randbytes(8 * 2**20)

        await socket.send_str("hello")
        await socket.send_bytes(large)
        first, second = await socket.receive(5), await socket.receive(10)

        assert socket.protocol == "v1.steelyard"
        assert first.data == "hello"
        assert second.data == large
        await socket.close()

    async def test_from_another_origin_are_refused(self, proxy: Proxy, workspace: Workspace) -> None:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
            await connect(proxy, Origin="http://beta.localhost")

        assert refusal.value.status == 403
        assert workspace.seen == []

    async def test_without_a_pass_are_refused(self, proxy: Proxy, workspace: Workspace) -> None:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
            await connect(proxy, Cookie="steelyard_workspace=mallory")

        assert refusal.value.status == 401
        assert workspace.seen == []

    async def test_without_traffic_stay_open_past_every_clock(self, proxy: Proxy) -> None:
        """Every clock of this proxy is shorter than this silence; none of them is for an open socket."""
        socket = await connect(proxy)

        await asyncio.sleep(2.5)
        await socket.send_str("still there")

        assert (await socket.receive(2)).data == "still there"
        assert proxy.gate.rechecked >= 3
        await socket.close()

    async def test_end_on_both_sides_when_either_ends(self, proxy: Proxy, workspace: Workspace) -> None:
        left = await connect(proxy)
        await left.close()
        await asyncio.wait_for(workspace.socket_ended.wait(), 2)

        stays = await connect(proxy)
        await workspace.stop()
        message = await stays.receive(2)

        assert message.type in {aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED}

    async def test_told_to_come_back_when_the_proxy_stops(self, proxy: Proxy) -> None:
        socket = await connect(proxy)

        farewell = asyncio.create_task(socket.receive())
        await proxy.server.stop()

        assert (await asyncio.wait_for(farewell, 2)).data == 1001


class TestLostPermission:
    async def test_closes_an_open_socket_at_the_next_recheck(self, proxy: Proxy, workspace: Workspace) -> None:
        socket = await connect(proxy)
        began = time.monotonic()

        proxy.gate.shut_out("alpha", "alice")
        message = await socket.receive(5)

        assert message.type is aiohttp.WSMsgType.CLOSE
        assert socket.close_code == 4403
        assert time.monotonic() - began < 5.0
        await asyncio.wait_for(workspace.socket_ended.wait(), 2)

    async def test_closes_at_once_on_a_hint(self, start_proxy: StartProxy) -> None:
        proxy = await start_proxy(clocks=dataclasses.replace(QUICK, recheck=60.0))
        socket = await connect(proxy)
        began = time.monotonic()

        proxy.server.revoke(proxy.gate.shut_out("alpha", "alice"))
        message = await socket.receive(5)
        again = await proxy.get("/")

        assert message.type is aiohttp.WSMsgType.CLOSE
        assert socket.close_code == 4403
        assert time.monotonic() - began < 5.0
        assert again.status == 401

    async def test_cuts_a_long_stream(self, proxy: Proxy, workspace: Workspace) -> None:
        async with proxy.session.get(proxy.url("/drip"), headers=proxy.headers()) as answer:
            assert await answer.content.readline() == b"drop\n"

            proxy.gate.shut_out("alpha", "alice")
            with pytest.raises(aiohttp.ClientError):
                await asyncio.wait_for(answer.content.read(), 5)

        await asyncio.wait_for(workspace.cancelled.wait(), 2)

    async def test_is_noticed_by_the_next_request_within_the_verdicts_age(self, proxy: Proxy) -> None:
        assert (await proxy.get("/")).status == 200
        proxy.gate.shut_out("alpha", "alice")

        await asyncio.sleep(QUICK.recheck * 1.5)

        assert (await proxy.get("/")).status == 401

    async def test_a_gatekeeper_gone_for_too_long_closes_everything(self, proxy: Proxy) -> None:
        socket = await connect(proxy)
        began = time.monotonic()

        proxy.gate.silent = True
        message = await socket.receive(5)

        assert message.type is aiohttp.WSMsgType.CLOSE
        assert socket.close_code == 4403
        assert QUICK.recheck_grace * 0.8 < time.monotonic() - began < QUICK.recheck_grace + 2.5


class TestFrameEdge:
    def test_knows_the_edge_however_the_bytes_are_cut(self) -> None:
        dice = random.Random(7)
        for _ in range(300):
            sizes = [dice.choice([0, 1, 125, 126, 65_535, 65_536, 70_001]) for _ in range(dice.randint(1, 4))]
            stream = b"".join(_frame(size) for size in sizes)
            edge, at = FrameEdge(), 0
            while at < len(stream):
                step = dice.choice([1, 2, 3, 9, 1000, 65_536])
                edge.feed(stream[at : at + step])
                at += step
                assert edge.between is (min(at, len(stream)) in _edges(sizes))

    def test_a_close_frame_is_small_and_unmasked(self) -> None:
        assert close_frame(4403, "access ended") == b"\x88\x0e" + struct.pack(">H", 4403) + b"access ended"


def _frame(size: int) -> bytes:
    if size < 126:
        head = bytes([0x82, size])
    elif size < 65_536:
        head = b"\x82\x7e" + struct.pack(">H", size)
    else:
        head = b"\x82\x7f" + struct.pack(">Q", size)
    return head + bytes(size)


def _edges(sizes: list[int]) -> set[int]:
    edges, at = set(), 0
    for size in sizes:
        at += len(_frame(size))
        edges.add(at)
    return edges
