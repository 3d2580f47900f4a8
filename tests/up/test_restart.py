"""The real platform goes down with live workspaces, politely and not, and comes back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import psutil
import pytest

from tests.platform import Platform, running
from tests.up import person

pytestmark = [pytest.mark.platform, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def platform():
    with running() as started:
        person.launch(started, "lab")
        person.writes(started, "lab", "notes.txt", "kept")
        yield started


class TestRestart:
    """In this order, on one platform."""

    def test_ctrl_c_ends_live_workspaces_and_closes_their_sessions_at_the_real_exit(self, platform):
        server = _server(platform)

        assert platform.end() == 0

        assert not server.is_running()
        record = _record(platform)
        assert (record["phase"], record["reason_code"]) == ("stopped", "platform_stopped")

        platform.start()
        (first, *_) = person.sessions_of(platform, "lab", "accelerator")
        assert first[1] is not None
        assert _microseconds(first[1]) == record["ended_at"]

    def test_what_was_wished_runs_again_with_its_files(self, platform):
        found = person.becomes(platform, "lab", "running")

        assert found["desired_state"] == "running"
        assert (person.volume(platform, "lab") / "notes.txt").read_text() == "kept"
        assert len(person.sessions_of(platform, "lab", "accelerator")) == 2

    def test_after_kill_9_of_everything_but_the_workspace_it_is_adopted_and_never_doubled(self, platform):
        server, before = _server(platform), person.sessions_of(platform, "lab", "accelerator")
        pids = platform.installation["pids"]
        assert platform.up is not None
        ours = [psutil.Process(pid) for pid in pids.values()]
        platform.up.kill()
        platform.up.wait()
        for process in ours:
            if process.is_running():
                process.kill()
        assert server.is_running()

        platform.start()

        assert person.becomes(platform, "lab", "running")["desired_state"] == "running"
        assert server.is_running()
        assert _server(platform) == server
        assert person.sessions_of(platform, "lab", "accelerator") == before

    def test_a_workspace_that_died_while_the_platform_was_down_is_billed_to_its_last_sign_of_life(self, platform):
        server, record = _server(platform), _record(platform)
        assert platform.up is not None
        platform.up.kill()
        platform.up.wait()
        for process in (psutil.Process(int(str(record["keeper_pid"]))), *server.children(recursive=True), server):
            if process.is_running():
                process.kill()

        platform.start()
        person.becomes(platform, "lab", "stopped")

        (*_, last) = person.sessions_of(platform, "lab", "accelerator")
        assert last[1] is not None
        assert _microseconds(last[1]) == _record(platform)["ended_at"]


def _record(platform: Platform) -> dict[str, object]:
    (path,) = (platform.state / "run").glob("*/record.json")
    found: dict[str, object] = json.loads(path.read_text())
    return found


def _server(platform: Platform) -> psutil.Process:
    return psutil.Process(int(str(_record(platform)["child_pid"])))


def _microseconds(word: str) -> int:

    return (datetime.fromisoformat(word) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
