"""Real JupyterLab under the local driver."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest
from yarl import URL

from provisioning.drivers.base import ActivityReading, RunSpec
from provisioning.drivers.local.config import jupyterlab
from provisioning.drivers.local.driver import LocalDriver
from tests.drivers.rig import LocalRig, a_spec, config_in, until

ENVIRONMENT = Path(__file__).resolve().parents[2] / ".venv-workspace"
START_S = 60.0
WEB = "http://workspace.localhost"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not ENVIRONMENT.is_dir(), reason="the workspace image is not installed"),
]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LocalRig]:
    config = config_in(tmp_path)
    images = {"jupyterlab": jupyterlab(ENVIRONMENT)}
    rig = LocalRig(LocalDriver(replace(config, images=images, grace_s=10.0)))
    yield rig
    rig.end_everything()


@pytest.fixture
def spec() -> RunSpec:
    return a_spec(image="jupyterlab", vcpus=2, memory_gib=4)


class TestJupyterLab:
    async def test_a_cell_runs_its_file_stays_and_its_work_is_seen(self, lab: LocalRig, spec: RunSpec) -> None:
        lab.started(spec, seconds=START_S)
        async with _session(lab, spec) as session:
            page = await (await session.get(f"{WEB}/lab")).text()
            kernel = await _new(session, "kernels", {"name": "python3"})
            printed = await _run(
                session,
                kernel["id"],
                "import os, pathlib; pathlib.Path('kept.txt').write_text('kept');"
                " print(os.getuid(), 6 * 7, os.getcwd())",
            )
            busy = await _busy_while(lab, spec, session, kernel["id"], "import time; time.sleep(4)")

        uid = lab.home(spec).stat().st_uid
        assert "JupyterLab" in page
        assert printed == f"{uid} 42 /home/work\n"
        assert busy.kernels[0].busy
        assert busy.kernels[0].connections == 1
        assert busy.connections == 1
        lab.stopped(spec)
        assert lab.processes(spec) == []
        lab.started(spec, seconds=START_S)
        assert (lab.home(spec) / "kept.txt").read_text() == "kept"
        assert not (lab.home(spec) / ".npm").exists()

    async def test_a_terminal_is_busy_while_something_runs_in_it(self, lab: LocalRig, spec: RunSpec) -> None:
        lab.started(spec, seconds=START_S)
        async with _session(lab, spec) as session:
            first = await _new(session, "terminals", {})
            second = await _new(session, "terminals", {})
            until(lambda: _read(lab, spec), lambda r: [t.busy for t in r.terminals] == [False] * 2)

            async with session.ws_connect(f"{WEB}/terminals/websocket/{second['name']}") as socket:
                await socket.send_str(json.dumps(["stdin", "sleep 1000\r"]))
                working = until(lambda: _read(lab, spec), lambda r: r.busy)
                await socket.send_str(json.dumps(["stdin", "\x03"]))
                until(lambda: _read(lab, spec), lambda r: not r.busy)
                await socket.send_str(json.dumps(["stdin", "(setsid sleep 1000 &)\r"]))
                detached = until(lambda: _read(lab, spec), lambda r: r.busy)

        assert {each.name: each.busy for each in working.terminals} == {
            first["name"]: False,
            second["name"]: True,
        }
        assert detached.detached == 1
        assert [each.busy for each in detached.terminals] == [False, False]

    async def test_kernels_talk_where_no_other_user_can_listen(self, lab: LocalRig, spec: RunSpec) -> None:
        lab.started(spec, seconds=START_S)
        async with _session(lab, spec) as session:
            await _new(session, "kernels", {"name": "python3"})
        runtime = lab.config.run_dir / spec.workload_id.hex / "box" / "r"

        connection = until(lambda: list(runtime.glob("kernel-*.json")), bool)[0]

        assert json.loads(connection.read_text())["transport"] == "ipc"
        assert runtime.stat().st_mode & 0o777 == 0o700

    def test_a_broken_package_of_ones_own_does_not_break_the_server(self, lab: LocalRig, spec: RunSpec) -> None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        own = lab.home(spec) / ".python" / version
        own.mkdir(parents=True)
        (own / "tornado.py").write_text("raise RuntimeError('broken')")

        assert lab.started(spec, seconds=START_S).ready

    def test_the_check_that_its_start_puts_off_is_there_when_asked(self) -> None:
        ask = """
import sys
from provisioning.drivers.local.jupyterlab_start import put_off
put_off()
import jsonschema
waits = "lark" not in sys.modules
conforms = jsonschema.FormatChecker().conforms
print(waits, *(conforms(text, "iri") for text in ("http://b\u00fccher.example/", "no address")))
"""
        python = ENVIRONMENT / "bin" / "python"
        said = subprocess.run(
            [python, "-c", ask], cwd=ENVIRONMENT.parent, capture_output=True, text=True, check=True
        ).stdout

        assert said.split() == ["True", "True", "False"]


@asynccontextmanager
async def _session(lab: LocalRig, spec: RunSpec) -> AsyncIterator[aiohttp.ClientSession]:
    endpoint = lab.driver.endpoint_of(spec)
    assert endpoint is not None
    assert endpoint.unix_socket is not None
    connector = aiohttp.UnixConnector(path=endpoint.unix_socket)
    async with aiohttp.ClientSession(connector=connector) as session:
        await (await session.get(f"{WEB}/lab")).read()
        yield session


async def _new(session: aiohttp.ClientSession, what: str, body: object) -> dict[str, str]:
    marks = session.cookie_jar.filter_cookies(URL(WEB))
    headers = {"X-XSRFToken": marks["_xsrf"].value} if "_xsrf" in marks else {}
    answer = await session.post(f"{WEB}/api/{what}", json=body, headers=headers)
    assert answer.status in (200, 201), await answer.text()
    made: dict[str, str] = await answer.json()
    return made


async def _run(session: aiohttp.ClientSession, kernel: str, code: str) -> str:
    """What the code prints."""
    printed = ""
    async with session.ws_connect(f"{WEB}/api/kernels/{kernel}/channels", origin=WEB) as socket:
        sent = await _send(socket, code)
        async for message in socket:
            content = json.loads(message.data)
            if content["parent_header"].get("msg_id") != sent:
                continue
            if content["msg_type"] == "stream":
                printed += content["content"]["text"]
            if content["msg_type"] == "status" and content["content"]["execution_state"] == "idle":
                break
    return printed


async def _busy_while(
    lab: LocalRig, spec: RunSpec, session: aiohttp.ClientSession, kernel: str, code: str
) -> ActivityReading:
    async with session.ws_connect(f"{WEB}/api/kernels/{kernel}/channels") as socket:
        await _send(socket, code)
        return until(lambda: _read(lab, spec), lambda reading: reading.busy)


async def _send(socket: aiohttp.ClientWebSocketResponse, code: str) -> str:
    identity = uuid4().hex
    await socket.send_json(
        {
            "header": {
                "msg_id": identity,
                "msg_type": "execute_request",
                "session": "test",
                "username": "test",
                "version": "5.3",
            },
            "parent_header": {},
            "metadata": {},
            "channel": "shell",
            "content": {"code": code, "silent": False, "store_history": False},
        }
    )
    return identity


def _read(lab: LocalRig, spec: RunSpec) -> ActivityReading:
    return lab.driver.activity(spec, now=datetime.now(UTC))
