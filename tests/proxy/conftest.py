from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import uvloop
from yarl import URL

from portal.proxy.config import Clocks, Limits, ProxyConfig
from portal.proxy.gate import Upstream
from portal.proxy.server import WorkspaceProxy
from tests.proxy.memory_gate import MemoryGate
from tests.proxy.workspace import Workspace

PORTAL = "http://portal.test:8000"
QUICK = Clocks(
    recheck=0.2,
    recheck_grace=1.0,
    gate=0.5,
    refusal=0.1,
    head=1.0,
    keep_alive=1.5,
    body=1.0,
    stall=1.0,
    linger=0.5,
    drain=1.0,
    sweep=0.05,
    listen=0.05,
    heartbeat=0.2,
)


@pytest.fixture(scope="session")
def event_loop_policy() -> asyncio.AbstractEventLoopPolicy:
    policy: asyncio.AbstractEventLoopPolicy = uvloop.EventLoopPolicy()
    return policy


@dataclass
class Proxy:
    """A running proxy, and how to talk to it as a browser that knows `alpha` by its cookie."""

    server: WorkspaceProxy
    gate: MemoryGate
    log: io.StringIO
    session: aiohttp.ClientSession

    @property
    def port(self) -> int:
        return self.server.port

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def headers(self, label: str = "alpha", cookie: str | None = "alice", **more: str) -> dict[str, str]:
        head = {"Host": f"{label}.localhost:{self.port}"}
        if cookie is not None:
            head["Cookie"] = f"steelyard_workspace={cookie}"
        return head | {name.replace("_", "-"): value for name, value in more.items()}

    async def get(self, path: str = "/", label: str = "alpha", cookie: str | None = "alice", **more: str) -> Seen:
        return await self.send("GET", path, headers=self.headers(label, cookie, **more))

    async def send(self, method: str, path: str, headers: dict[str, str], data: bytes | None = None) -> Seen:
        async with self.session.request(
            method, URL(self.url(path), encoded=True), headers=headers, data=data, allow_redirects=False
        ) as answer:
            return Seen(answer.status, answer.headers.copy(), await answer.read())

    async def raw(self, data: bytes, *, wait: float = 2.0) -> bytes:
        """Everything the proxy says to these bytes until it closes, or falls silent for `wait` seconds."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        said = b""
        try:
            while piece := await asyncio.wait_for(reader.read(65536), wait):
                said += piece
        except (TimeoutError, ConnectionResetError):
            pass
        finally:
            writer.close()
        return said


@dataclass
class Seen:
    status: int
    headers: object
    body: bytes

    def header(self, name: str) -> str:
        return self.headers.get(name, "")  # type: ignore[attr-defined,no-any-return]

    def all(self, name: str) -> list[str]:
        return list(self.headers.getall(name, []))  # type: ignore[attr-defined]


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = Workspace(tmp_path / "w.sock")
    await workspace.start()
    yield workspace
    await workspace.stop()


StartProxy = Callable[..., Awaitable[Proxy]]


@pytest.fixture
async def start_proxy(workspace: Workspace) -> AsyncIterator[StartProxy]:
    running: list[Proxy] = []

    async def start(
        clocks: Clocks = QUICK, limits: Limits | None = None, *, https: bool = False, reentry_url: str | None = None
    ) -> Proxy:
        gate, log = MemoryGate(), io.StringIO()
        gate.let_in("alpha", "alice", Upstream(pass_key="", unix_socket=str(workspace.path)))
        config = ProxyConfig(
            domain="localhost",
            portal_url=PORTAL,
            port=0,
            https=https,
            reentry_url=reentry_url,
            clocks=clocks,
            limits=limits or Limits(),
        )
        server = WorkspaceProxy(config, gate, log=log)
        await server.start()
        session = aiohttp.ClientSession(auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar())
        running.append(Proxy(server, gate, log, session))
        return running[-1]

    yield start
    for proxy in running:
        await proxy.session.close()
        await proxy.server.stop()


@pytest.fixture
async def proxy(start_proxy: StartProxy) -> Proxy:
    return await start_proxy()
