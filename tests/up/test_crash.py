"""What `kill -9` leaves, with real servers and a stand-in for the Django part."""

from __future__ import annotations

import json
import os
import signal
import urllib.request

import psutil
import psycopg
import pytest

pytestmark = [pytest.mark.slow]


class TestKilledProcess:
    def test_each_comes_back_alone_and_the_file_names_the_new_one(self, stand_in):
        stand_in.start()

        for name in ("web", "proxy", "worker", "beat", "valkey", "postgres"):
            before = stand_in.installation["pids"]
            os.kill(before[name], signal.SIGKILL)

            stand_in.wait_until(lambda: stand_in.installation["pids"].get(name, before[name]) != before[name])  # noqa: B023
            stand_in.wait_until(lambda: _answers(stand_in))
            assert {**stand_in.installation["pids"], name: 0} == {**before, name: 0}

        assert stand_in.end() == 0
        assert stand_in.processes() == []

    def test_what_a_killed_server_left_in_its_group_ends_too(self, stand_in):
        stand_in.start()
        web = psutil.Process(stand_in.installation["pids"]["web"])
        children = web.children(recursive=True)

        web.kill()

        assert children
        assert psutil.wait_procs(children, timeout=10)[1] == []


class TestKilledSupervisor:
    def test_its_processes_end_with_it_and_the_next_start_finds_the_data(self, stand_in):
        stand_in.start()
        before = [psutil.Process(pid) for pid in stand_in.processes()]
        with psycopg.connect(_owner_url(stand_in)) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        stand_in.up.kill()
        stand_in.up.wait()

        stand_in.start()

        assert psutil.wait_procs(before, timeout=0)[1] == []
        with psycopg.connect(_owner_url(stand_in)) as connection:
            assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
        assert stand_in.end() == 0
        assert stand_in.processes() == []

    def test_what_outlives_it_is_ended_by_the_next_start(self, stand_in):
        """Stopped processes cannot act on the kernel's signal: the worst that can be left."""
        stand_in.start()
        pids = stand_in.installation["pids"]
        left = [psutil.Process(pids[name]) for name in ("web", "worker", "valkey", "postgres")]
        for process in left:
            process.suspend()
        stand_in.up.kill()
        stand_in.up.wait()
        assert all(process.is_running() for process in left)

        stand_in.start()

        assert psutil.wait_procs(left, timeout=0)[1] == []
        assert stand_in.end() == 0
        assert stand_in.processes() == []


def _owner_url(stand_in) -> str:
    return str(json.loads((stand_in.state / "environment.json").read_text())["DATABASE_OWNER_URL"])


def _answers(stand_in) -> bool:
    try:
        return bool(urllib.request.urlopen(f"{stand_in.installation['portal']}/", timeout=2).status == 200)
    except OSError:
        return False
