"""The real platform, and `kill -9` of its processes while a workspace is made, runs, stops and is deleted."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import aiohttp
import pytest

from tests.faults import lab_environment
from tests.faults.installed import Workspace, back, kill
from tests.platform import fresh

pytestmark = [pytest.mark.platform, pytest.mark.slow, pytest.mark.timeout(420)]

ALL = ("worker", "web", "beat", "proxy", "watch")
STEPS = ["launched", "admitted", "running", "stop_requested", "stopped", "delete_requested", "deleted"]


@pytest.fixture(scope="module")
def platform(tmp_path_factory):
    found = fresh()
    found.extra = {"STEELYARD_WORKSPACE_VENV": str(lab_environment.make(found.folder))}
    try:
        found.start()
        yield found
    finally:
        found.clean()


def check_that_nothing_is_left(workspace: Workspace) -> None:
    assert workspace.processes() == []
    assert workspace.charged() == [workspace.held()]
    assert (workspace.noted("starts"), workspace.noted("twice")) == (1, 0)
    assert {quota["used"] for quota in workspace.get("quotas?limit=100")["results"]} == {0}
    events = workspace.get(f"workloads/{workspace.id}/events?limit=100")["results"]
    codes = [event["code"] for event in sorted(events, key=lambda event: event["id"])]
    assert [code for code in codes if code != "workload.bound"] == [f"workload.{step}" for step in STEPS]


@pytest.mark.parametrize("names", [("worker",), ("web",), ("beat",), ("proxy",), ("valkey",), ALL], ids=" ".join)
def test_killed_at_each_step_it_comes_back_and_the_workspace_goes_its_way(platform, names):
    before = platform.installation["pids"]
    workspace = Workspace(platform, f"killed-{'-'.join(names)}")
    kill(platform, names)
    back(platform, before, names)
    workspace.becomes("running")
    run = workspace.run().incarnation

    before = platform.installation["pids"]
    kill(platform, names)
    back(platform, before, names)
    assert (workspace.read()["state"], workspace.run().incarnation) == ("running", run)

    before = platform.installation["pids"]
    workspace.ask("stop")
    kill(platform, names)
    back(platform, before, names)
    workspace.becomes("stopped")

    before = platform.installation["pids"]
    workspace.delete()
    kill(platform, names)
    back(platform, before, names)
    workspace.becomes("deleted")
    check_that_nothing_is_left(workspace)


def test_an_open_socket_is_lost_with_the_proxy_and_made_again_with_the_same_cookie(platform):
    workspace = Workspace(platform, "socket")
    workspace.becomes("running")
    with ThreadPoolExecutor(1) as thread:  # a loop of its own: a browser's may run in this one
        thread.submit(asyncio.run, _lost_and_made_again(platform, *workspace.entered())).result(timeout=120)
    assert workspace.noted("starts") == 1
    workspace.ask("stop")
    workspace.becomes("stopped")
    workspace.delete()
    workspace.becomes("deleted")
    check_that_nothing_is_left(workspace)


async def _lost_and_made_again(platform, where, headers):
    async with aiohttp.ClientSession() as browser:
        socket = await browser.ws_connect(where, headers=headers)
        await socket.send_str("one")
        assert (await socket.receive(10)).data == "one"

        before = platform.installation["pids"]
        kill(platform, ["proxy"])
        assert (await socket.receive(10)).type in {aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR}
        back(platform, before, ["proxy"])

        again = await browser.ws_connect(where, headers=headers)
        await again.send_str("two")
        assert (await again.receive(10)).data == "two"
        await again.close()


def test_a_broker_that_hangs_for_twenty_seconds_costs_time_and_nothing_else(platform):
    broker = platform.installation["pids"]["valkey"]
    os.kill(broker, signal.SIGSTOP)
    try:
        began = time.monotonic()
        workspace = Workspace(platform, "no-broker")
        answered = time.monotonic() - began
        time.sleep(max(0.0, 20 - answered))
        assert workspace.read()["state"] == "queued"
    finally:
        os.kill(broker, signal.SIGCONT)
    workspace.becomes("running")
    workspace.ask("stop")
    workspace.becomes("stopped")
    workspace.delete()
    workspace.becomes("deleted")

    assert answered < 15
    check_that_nothing_is_left(workspace)
