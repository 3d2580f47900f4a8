"""Databases of somebody else's: out of one, into another that a lesser owner has."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from portal.backup import installations, making, restoring
from portal.backup.errors import CannotBackUp, CannotRestore
from portal.up import roles
from portal.up.ephemeral import servers
from portal.up.state import State
from tests.platform import ROOT
from tests.portal.test_environment import PROPER

pytestmark = [pytest.mark.slow]

KEYS = {name: PROPER[name] for name in ("STEELYARD_SECRET_KEY", "STEELYARD_FIELD_KEY")}
_ELDER = """
    SET session_replication_role = replica;
    INSERT INTO tenants_organization
        (id, slug, name, currency, time_zone, standing, standing_reason, mfa_required, created_at, version)
    VALUES (gen_random_uuid(), 'elder', 'Elder', 'EUR', 'UTC', 'good', '', false, now(), 1)
"""


@pytest.fixture(scope="module")
def theirs():
    with servers() as running:
        yield running


@pytest.fixture(scope="module")
def folder():
    made = Path(tempfile.mkdtemp(prefix="steelyard-given-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def archive(theirs, folder):
    roles.prepare(theirs.owner_url, "word")
    _migrate(theirs.owner_url)
    with psycopg.connect(theirs.owner_url) as connection:
        connection.execute(_ELDER)
    (folder / "source" / "workspaces").mkdir(parents=True)
    variables = {"STEELYARD_STATE": str(folder / "source"), "DATABASE_OWNER_URL": theirs.owner_url, **KEYS}
    making.back_up(installations.find(variables, ROOT), folder / "all.tar")
    return folder / "all.tar"


@pytest.fixture
def lesser_owner(theirs):
    """The address of an empty database whose owner is no superuser."""
    name = f"owner_{secrets.token_hex(4)}"
    statements: list[LiteralString] = [
        "CREATE ROLE {} LOGIN BYPASSRLS CREATEROLE PASSWORD 'word'",
        "GRANT steelyard_app, steelyard_platform TO {} WITH ADMIN OPTION",
        "CREATE DATABASE {} OWNER {} TEMPLATE template0",
    ]
    with psycopg.connect(theirs.owner_url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(sql.SQL(statement).format(*[sql.Identifier(name)] * statement.count("{}")))
    host = urlsplit(theirs.owner_url).netloc.rpartition("@")[2]
    return f"postgresql://{name}:word@{host}/{name}"


class TestGivenDatabase:
    def test_everything_is_the_new_owners_and_row_level_security_binds_the_web_role(
        self, archive, lesser_owner, folder
    ):
        state = folder / "restored"
        variables = {
            "STEELYARD_STATE": str(state),
            "DATABASE_OWNER_URL": lesser_owner,
            "DATABASE_URL": roles.app_url(lesser_owner, "web's word"),
        }

        restoring.restore(archive, variables, root=ROOT, known_migrations=_known())

        owner = urlsplit(lesser_owner).username
        with psycopg.connect(lesser_owner) as connection:
            tables = connection.execute("SELECT DISTINCT tableowner::text FROM pg_tables WHERE schemaname = 'public'")
            assert tables.fetchall() == [(owner,)]
            definers = connection.execute(
                "SELECT DISTINCT proowner::regrole::text FROM pg_proc"
                " WHERE prosecdef AND pronamespace = 'public'::regnamespace"
            )
            assert definers.fetchall() == [(owner,)]
            assert connection.execute("SELECT slug FROM tenants_organization").fetchall() == [("elder",)]
        with psycopg.connect(variables["DATABASE_URL"]) as web:
            assert web.execute("SELECT count(*) FROM tenants_project").fetchone() == (0,)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                web.execute("TRUNCATE tenants_project")
        assert _migrate(lesser_owner, "--check") == 0
        assert State(shown=state, home=state).secrets().field_key == KEYS["STEELYARD_FIELD_KEY"]

    def test_a_database_that_is_not_empty_is_refused(self, archive, theirs, folder):
        variables = {"STEELYARD_STATE": str(folder / "second"), "DATABASE_URL": theirs.owner_url}

        with pytest.raises(CannotRestore, match=r"is not empty \(\d+ tables\)"):
            restoring.restore(archive, variables, root=ROOT, known_migrations=_known())

        assert not (folder / "second").exists()

    @pytest.mark.usefixtures("archive")
    def test_with_keys_of_its_own_an_installation_that_has_none_says_so(self, theirs, folder):
        of = installations.find(
            {"STEELYARD_STATE": str(folder / "source"), "DATABASE_OWNER_URL": theirs.owner_url}, ROOT
        )

        with pytest.raises(CannotBackUp, match="There are no keys in"):
            making.back_up(of, folder / "none.tar")
        assert not (folder / "none.tar").exists()


def _migrate(owner_url: str, *words: str) -> int:
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "migrate", "--no-input", "--verbosity=0", *words],
        env=os.environ | {"DATABASE_URL": owner_url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.returncode


def _known() -> list[str]:
    return [f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations]
