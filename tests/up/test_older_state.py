"""`make up` on a state that an older version left, and on one whose migration or seeding was killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import LiteralString

import psutil
import psycopg
import pytest

from portal.backup.installations import start_own
from portal.up.accounts import server_account
from portal.up.state import open_state
from tests.platform import ROOT, Platform, fresh, wait_until
from tests.up import person

pytestmark = [pytest.mark.platform, pytest.mark.slow, pytest.mark.timeout(600)]

FIRST = ("core", "tenants")
# What is so in the middle of each step, and not before it
UNDER_WAY: dict[str, LiteralString] = {
    "migrate": "SELECT count(*) > 5 FROM django_migrations",
    "seed_demo": "SELECT count(*) > 2 FROM tenants_user",
}
NOT_GIVEN = {"DATABASE_URL": "", "DATABASE_OWNER_URL": "", "REDIS_URL": ""}
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
    record = platform.state / "processes" / f"{step}.json"
    starting = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "up"],
        env=os.environ | {"STEELYARD_STATE": str(platform.state), "STEELYARD_PORT": str(platform.port)} | NOT_GIVEN,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_until(record.exists, seconds=120)
    process = psutil.Process(json.loads(record.read_text())["pid"])
    deadline = time.monotonic() + 60
    while not _is_so(platform, UNDER_WAY[step]):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    said, _ = starting.communicate(timeout=60)
    assert starting.returncode == 1
    return str(said.strip().splitlines()[-1])


def _is_so(platform: Platform, question: LiteralString) -> bool:
    try:
        with psycopg.connect(_owner_url(platform)) as connection:
            row = connection.execute(question).fetchone()
    except psycopg.errors.UndefinedTable:
        return False
    return bool(row and row[0])


def _owner_url(platform: Platform) -> str:
    return str(json.loads((platform.state / "environment.json").read_text())["DATABASE_OWNER_URL"])
