"""A backup of a real platform while it works, restored beside it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from datetime import datetime

import pytest

from tests.platform import ROOT, fresh, running
from tests.up import person

pytestmark = [pytest.mark.platform, pytest.mark.slow, pytest.mark.timeout(600)]


def manage(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("DATABASE", "REDIS"))}
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *words],
        env=inherited | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory):
    """The platform that goes on, the archive, and the platform that was restored from it."""
    archive = tmp_path_factory.mktemp("backup") / "all.tar"
    copy = fresh()
    try:
        with running() as original:
            person.launch(original, "stopped-one")
            person.writes(original, "stopped-one", "notes.txt", "kept")
            person.asks(original, "stopped-one", "stop")
            person.becomes(original, "stopped-one", "stopped")
            person.launch(original, "running-one")
            person.writes(original, "running-one", "work.txt", "unfinished")
            done = manage("backup", "--to", str(archive), STEELYARD_STATE=str(original.state))
            assert done.returncode == 0, done.stderr
            told = {name: person.pages(original, "olivia", name) for name in ("usage-sessions", "audit-events")}
            done = manage("restore", str(archive), STEELYARD_STATE=str(copy.state))
            assert done.returncode == 0, done.stderr
            copy.start()
            yield original, archive, copy, told
    finally:
        copy.clean()


class TestRehearsal:
    def test_the_archive_is_for_its_owner_alone(self, rehearsed):
        _, archive, _, _ = rehearsed

        assert stat.S_IMODE(archive.stat().st_mode) == 0o600
        assert [path.name for path in archive.parent.iterdir()] == [archive.name]

    def test_the_same_people_sign_in_with_the_same_passwords_and_tokens(self, rehearsed):
        original, _, copy, _ = rehearsed

        assert copy.installation["people"] == original.installation["people"]
        assert all(person.signs_in(copy, name) for name in ("alice", "olivia", "charlie"))
        assert person.pages(copy, "charlie", "workloads") == []

    def test_the_copy_shares_no_secret_of_its_processes_with_the_original(self, rehearsed):
        original, _, copy, _ = rehearsed
        first, second = (json.loads((each.state / "secrets.json").read_text()) for each in (original, copy))

        shared = {name for name in first if first[name] == second[name]}

        assert shared == {"secret_key", "field_key"}

    def test_the_stopped_workspace_starts_and_its_file_is_there(self, rehearsed):
        _, _, copy, _ = rehearsed

        person.asks(copy, "stopped-one", "start")
        person.becomes(copy, "stopped-one", "running")

        found = person.volume(copy, "stopped-one") / "notes.txt"
        assert found.read_text() == "kept"
        assert stat.S_IMODE(found.stat().st_mode) == 0o640
        assert found.stat().st_uid == found.parent.stat().st_uid

    def test_the_running_one_starts_again_and_costs_nothing_between(self, rehearsed):
        _, archive, copy, _ = rehearsed

        person.becomes(copy, "running-one", "running")

        first, second = person.sessions_of(copy, "running-one", "accelerator")
        assert first[1] is not None
        assert second[1] is None
        assert datetime.fromisoformat(first[1]) == _taken_at(archive)
        assert (person.volume(copy, "running-one") / "work.txt").read_text() == "unfinished"

    def test_usage_that_had_ended_is_identical(self, rehearsed):
        _, _, copy, told = rehearsed

        now = {each["id"]: each for each in person.pages(copy, "olivia", "usage-sessions")}

        ended = [each for each in told["usage-sessions"] if each["to"] is not None]
        assert ended
        for each in ended:
            assert {**now[each["id"]], "as_of": None} == {**each, "as_of": None}

    def test_the_audit_chain_goes_on_from_where_it_was(self, rehearsed):
        _, _, copy, told = rehearsed

        now = [each["id"] for each in person.pages(copy, "olivia", "audit-events")]

        assert {each["id"] for each in told["audit-events"]} <= set(now)

    def test_the_original_goes_on_undisturbed(self, rehearsed):
        original, _, _, _ = rehearsed

        assert person.workload(original, "running-one")["state"] == "running"
        assert person.sessions_of(original, "running-one", "accelerator")[-1][1] is None

    def test_a_second_restore_into_it_is_refused(self, rehearsed):
        _, archive, copy, _ = rehearsed

        done = manage("restore", str(archive), STEELYARD_STATE=str(copy.state))

        assert done.returncode == 1
        assert done.stderr.strip().splitlines() == [
            f"CommandError: {copy.state} is not empty: name a new folder in STEELYARD_STATE."
        ]


def _taken_at(archive) -> datetime:
    done = subprocess.run(["tar", "-xOf", str(archive), "manifest.json"], capture_output=True, check=True)
    return datetime.fromisoformat(json.loads(done.stdout)["taken_at"])
