"""`make up` on a state that an older version left, and on one whose migration or seeding was killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack

import psutil
import psycopg
import pytest

from portal.backup.installations import start_own
from portal.up.accounts import server_account
from portal.up.state import open_state
from tests.platform import ROOT, Platform, fresh, wait_until
from tests.up import person

pytestmark = [pytest.mark.platform, pytest.mark.slow]

FIRST = ("core", "tenants", "billing", "provisioning")
_ORGANIZATION = """
    INSERT INTO tenants_organization (id, slug, name, currency, time_zone, standing, created_at, version)
    VALUES (gen_random_uuid(), 'elder', 'Elder', 'EUR', 'UTC', 'good', now(), 1)
"""


@pytest.fixture
def platform():
    made = fresh()
    yield made
    made.clean()


class TestOlderState:
    def test_the_newer_migrations_are_made_and_what_was_there_stays(self, platform):
        _build_with_first_migrations(platform)

        platform.start()

        assert person.signs_in(platform, "alice")
        assert person.pages(platform, "alice", "shapes")
        with psycopg.connect(_owner_url(platform)) as connection:
            assert connection.execute("SELECT name FROM tenants_organization WHERE slug = 'elder'").fetchone()
        assert platform.end() == 0


class TestKilledSteps:
    def test_a_migration_and_a_seeding_that_were_killed_converge_at_the_next_start(self, platform):
        for step in ("migrate", "seed_demo"):
            said = _killed_in(platform, step)
            assert f"{step} failed" in said
            assert "Traceback" not in said

        platform.start()

        assert person.signs_in(platform, "olivia")
        assert len(person.pages(platform, "petra", "organizations")) >= 1
        assert {each["organization"] for each in platform.installation["people"]} == {"aurora", "borealis"}
        assert person.pages(platform, "charlie", "quotas")
        assert platform.end() == 0


def _build_with_first_migrations(platform: Platform) -> None:
    state = open_state(platform.state, server_account())
    with state.locked(), ExitStack() as stack:
        owner_url = start_own(state, stack)
        for app in FIRST:
            done = subprocess.run(
                [sys.executable, str(ROOT / "manage.py"), "migrate", "--no-input", app, "0001"],
                env=os.environ | {"DATABASE_URL": owner_url},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
        with psycopg.connect(owner_url) as connection:
            connection.execute(_ORGANIZATION)


def _killed_in(platform: Platform, step: str) -> str:
    """kill -9 in the middle of that step: what the platform says then."""
    record, before = platform.state / "processes" / f"{step}.json", _size(platform)
    starting = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "up"],
        env=os.environ | {"STEELYARD_STATE": str(platform.state), "STEELYARD_PORT": str(platform.port)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_until(record.exists, seconds=120)
    process = psutil.Process(json.loads(record.read_text())["pid"])
    wait_until(lambda: not process.is_running() or _size(platform) > before + 200_000, seconds=60)
    process.kill()
    said, _ = starting.communicate(timeout=60)
    assert starting.returncode == 1
    return said.strip().splitlines()[-1]


def _size(platform: Platform) -> int:
    """Of the database: grows with every table that is made."""
    try:
        return sum(path.stat().st_size for path in (platform.state / "postgres" / "data" / "base").rglob("*"))
    except OSError:
        return 0


def _owner_url(platform: Platform) -> str:
    return str(json.loads((platform.state / "environment.json").read_text())["DATABASE_OWNER_URL"])
