"""The data plane as a process: flat memory under large bodies, a graceful end, a real JupyterLab behind it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import psutil
import pytest

from tests.proxy.standalone import COOKIE, LABEL
from tests.proxy.workspace import Workspace

ROOT = Path(__file__).parents[2]
JUPYTER = ROOT / ".venv-workspace" / "bin" / "jupyter"
MIB = 2**20


@dataclass
class Running:
    process: asyncio.subprocess.Process
    port: int

    @property
    def resident(self) -> int:
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Host": f"{LABEL}.localhost:{self.port}", "Cookie": f"steelyard_workspace={COOKIE}"}


@contextlib.asynccontextmanager
async def standalone(where: dict[str, str]) -> AsyncIterator[Running]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.proxy.standalone", json.dumps(where)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        line = await asyncio.wait_for(process.stderr.readline(), 20)
        yield Running(process, int(line))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
async def running(workspace: Workspace) -> AsyncIterator[Running]:
    async with standalone({"unix_socket": str(workspace.path)}) as running:
        yield running


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield session


class TestLargeBodies:
    async def test_an_upload_of_200_mib_arrives_whole_in_flat_memory(
        self, running: Running, session: aiohttp.ClientSession
    ) -> None:
        block, digest, peaks = os.urandom(MIB), hashlib.sha256(), []

        async def blocks() -> AsyncIterator[bytes]:
            for _ in range(200):
                digest.update(block)
                peaks.append(running.resident)
                yield block

        async with session.put(running.url("/digest"), headers=running.headers, data=blocks()) as answer:
            seen = await answer.json()

        assert seen == {"sha256": digest.hexdigest(), "size": 200 * MIB}
        assert max(peaks) - peaks[0] < 20 * MIB

    @pytest.mark.parametrize("query", ["", "?length"], ids=["chunked", "sized"])
    async def test_a_download_of_200_mib_arrives_whole_in_flat_memory(
        self, running: Running, session: aiohttp.ClientSession, query: str
    ) -> None:
        before, most, size = running.resident, 0, 0

        async with session.get(running.url(f"/big/200{query}"), headers=running.headers) as answer:
            async for piece in answer.content.iter_chunked(MIB):
                size += len(piece)
                most = max(most, running.resident)

        assert size == 200 * MIB
        assert most - before < 20 * MIB

    async def test_a_client_that_reads_slowly_slows_the_workspace_down(
        self, running: Running, session: aiohttp.ClientSession
    ) -> None:
        before = running.resident

        async with session.get(running.url("/big/200"), headers=running.headers) as answer:
            for _ in range(8):
                await answer.content.read(1000)
                await asyncio.sleep(0.1)
            held = running.resident

        assert held - before < 20 * MIB


class TestTermination:
    async def test_lets_an_answer_finish_and_then_ends(self, running: Running, session: aiohttp.ClientSession) -> None:
        async with session.get(running.url("/big/20"), headers=running.headers) as answer:
            first = await answer.content.read(1000)
            running.process.send_signal(signal.SIGTERM)
            rest = await answer.content.read()
        status = await asyncio.wait_for(running.process.wait(), 5)

        assert len(first) + len(rest) == 20 * MIB
        assert status == 0

    async def test_does_not_wait_for_ever(self, running: Running, session: aiohttp.ClientSession) -> None:
        async with session.get(running.url("/drip"), headers=running.headers) as answer:
            await answer.content.read(5)
            began = time.monotonic()
            running.process.send_signal(signal.SIGTERM)
            status = await asyncio.wait_for(running.process.wait(), 10)

        assert status == 0
        assert time.monotonic() - began < 5


@pytest.fixture
async def jupyter(tmp_path: Path) -> AsyncIterator[Path]:
    if not JUPYTER.exists():
        pytest.skip("the workspace environment is not installed")
    socket = tmp_path / "lab.sock"
    options = ["--no-browser", "--allow-root", "--IdentityProvider.token=", "--ServerApp.allow_remote_access=True"]
    options += [f"--ServerApp.sock={socket}", "--ServerApp.sock_mode=0600", f"--ServerApp.root_dir={tmp_path}"]
    places = {f"JUPYTER_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    process = await asyncio.create_subprocess_exec(
        str(JUPYTER),
        *("lab", *options),
        env=os.environ | places | {"HOME": str(tmp_path)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    yield socket
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


@pytest.mark.slow
class TestJupyterLab:
    async def test_opens_and_runs_a_cell_through_the_proxy(self, jupyter: Path, session: aiohttp.ClientSession) -> None:
        async with standalone({"unix_socket": str(jupyter)}) as running:
            page = await _until_up(session, running)
            xsrf = page.cookies["_xsrf"].value
            head = running.headers | {"X-XSRFToken": xsrf, "Origin": f"http://{running.headers['Host']}"}
            head["Cookie"] += f"; _xsrf={xsrf}"
            async with session.post(running.url("/api/kernels"), headers=head, json={}) as answer:
                kernel = (await answer.json())["id"]
            answer_of_cell = await _run(session, running, head, kernel, "print(6 * 7)")

        assert page.status == 200
        assert answer_of_cell == "42\n"


async def _until_up(session: aiohttp.ClientSession, running: Running) -> aiohttp.ClientResponse:
    """The page looks again by itself while the workspace starts; so does this."""
    async with asyncio.timeout(60):
        while True:
            async with session.get(running.url("/lab"), headers=running.headers) as answer:
                await answer.read()
                if answer.status != 503:
                    return answer
            await asyncio.sleep(0.5)


async def _run(session: aiohttp.ClientSession, running: Running, head: dict[str, str], kernel: str, code: str) -> str:
    header = {
        "msg_id": uuid.uuid4().hex,
        "msg_type": "execute_request",
        "session": "s",
        "username": "",
        "version": "5.3",
    }
    content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
    url = running.url(f"/api/kernels/{kernel}/channels")
    async with asyncio.timeout(60), session.ws_connect(url, headers=head) as socket:
        await socket.send_json(message)
        async for received in socket:
            told = json.loads(received.data)
            if told["msg_type"] == "stream" and told["parent_header"].get("msg_id") == header["msg_id"]:
                return str(told["content"]["text"])
    raise AssertionError("the socket ended before the cell had printed")
