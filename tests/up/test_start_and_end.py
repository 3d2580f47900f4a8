"""Starting and ending, with real servers and a stand-in for the Django part."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import urllib.request

import psutil
import psycopg
import pytest

pytestmark = [pytest.mark.slow]


class TestStart:
    def test_a_fresh_start_serves_says_where_and_ends_without_a_trace(self, stand_in):
        stand_in.start()
        found = stand_in.installation

        assert urllib.request.urlopen(f"{found['portal']}/health/ready", timeout=5).status == 200
        assert found["people"][0]["email"] == "ada@aurora.example"
        assert set(found["pids"]) == {"up", "postgres", "valkey", "web", "proxy", "worker", "beat", "watch"}
        assert stat.S_IMODE((stand_in.state / "installation.json").stat().st_mode) == 0o600
        assert stat.S_IMODE(stand_in.state.stat().st_mode) == 0o711
        with psycopg.connect(found["database_url"]) as connection:
            row = connection.execute(
                "SELECT current_user::text, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
        assert row == ("steelyard_app", False, False)

        assert stand_in.end() == 0
        assert not (stand_in.state / "installation.json").exists()
        assert stand_in.processes() == []

    def test_what_only_root_and_the_platform_may_read_is_closed_to_others(self, stand_in):
        stand_in.start()

        open_to_others = {
            path.name
            for path in stand_in.state.iterdir()
            if path.name not in {"workspaces", "programs"} and stat.S_IMODE(path.stat().st_mode) & 0o077
        }

        assert open_to_others == set()

    def test_migrations_get_the_owner_and_everything_else_the_web_role(self, stand_in):
        stand_in.start()
        stand_in.end()

        commands = stand_in.commands
        assert commands[:3] == ["migrate steelyard", "collectstatic steelyard_app", "seed_demo steelyard_app"]
        assert sorted(commands[3:-1]) == ["proxy steelyard_app", "watch_clusters steelyard_app"]
        assert commands[-1] == "end_workspaces steelyard_app"

    def test_a_second_start_finds_everything_as_it_was(self, stand_in):
        stand_in.start()
        before = stand_in.installation
        with psycopg.connect(_owner_url(stand_in)) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        stand_in.end()

        stand_in.start()
        after = stand_in.installation

        assert {**after, "pids": None} == {**before, "pids": None}
        with psycopg.connect(_owner_url(stand_in)) as connection:
            assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


class TestRefusal:
    def test_a_second_platform_on_the_same_state_is_refused_and_harms_nothing(self, stand_in):
        stand_in.start()
        before = stand_in.installation

        said = stand_in.refused()

        assert "runs already" in said
        assert str(before["pids"]["up"]) in said
        assert stand_in.installation == before

    @pytest.mark.parametrize("offset", [0, 1])
    def test_a_port_in_use_is_named_with_its_holder(self, stand_in, offset):
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", stand_in.port + offset))
            holder.listen()

            said = stand_in.refused()

        assert f"Port {stand_in.port + offset}" in said
        assert f"process {os.getpid()}" in said

    def test_a_step_that_fails_is_told_with_its_last_words_and_leaves_nothing(self, stand_in):
        stand_in.state.mkdir()
        (stand_in.state / "fail-migrate").touch()

        said = stand_in.refused()

        assert said.startswith("migrate failed: migrate is meant to fail")
        assert stand_in.processes() == []

    def test_a_process_that_cannot_start_is_told_with_its_last_words_and_leaves_nothing(self, stand_in):
        (stand_in.root / "portal" / "wsgi.py").write_text("raise SystemExit('no such setting')")

        said = stand_in.refused()

        assert said.startswith("web fails to start:")
        assert stand_in.processes() == []

    def test_what_a_killed_restore_left_is_not_started(self, stand_in):
        stand_in.state.mkdir()
        (stand_in.state / "restore.unfinished").touch()

        assert "was interrupted: remove that folder and restore again" in stand_in.refused()

    def test_a_missing_workspace_python_is_told(self, stand_in):
        (stand_in.root / ".venv-workspace" / "bin" / "python").unlink()

        assert "make install" in stand_in.refused()


class TestEnd:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
    def test_every_polite_signal_ends_everything(self, stand_in, number):
        stand_in.start()

        assert stand_in.end(number) == 0
        assert stand_in.processes() == []

    def test_a_signal_during_the_start_ends_everything(self, stand_in):
        stand_in.begin()
        stand_in.wait_until((stand_in.state / "postgres" / "data").exists)

        assert stand_in.end() == 0
        assert stand_in.processes() == []

    def test_processes_of_others_are_left_alone(self, stand_in):
        stand_in.start()
        neighbour = psutil.Popen(["sleep", "60"], cwd=stand_in.state / "logs")

        stand_in.end()

        assert neighbour.is_running()
        neighbour.kill()
        neighbour.wait()


def _owner_url(stand_in) -> str:

    return str(json.loads((stand_in.state / "environment.json").read_text())["DATABASE_OWNER_URL"])
