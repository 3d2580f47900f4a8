from __future__ import annotations

import io
import os
import secrets
from unittest import mock
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from psycopg import sql

from portal.up import roles
from portal.up.ephemeral import servers
from portal.up.errors import CannotStart


@pytest.fixture(scope="module")
def server():
    with servers() as running:
        yield running


@pytest.fixture
def database(server):
    """A new one that nobody has prepared, as its owner."""
    name = f"db_{secrets.token_hex(4)}"
    with psycopg.connect(server.owner_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
    return urlunsplit(urlsplit(server.owner_url)._replace(path=f"/{name}"))


class TestPrepare:
    def test_it_may_be_repeated_and_the_latest_password_holds(self, database):
        roles.prepare(database, "first")
        roles.prepare(database, "sec:on/d@")

        with psycopg.connect(roles.app_url(database, "sec:on/d@")) as connection:
            assert connection.execute("SELECT similarity('steel', 'steel')").fetchone() == (1.0,)
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(roles.app_url(database, "first"))

    def test_the_web_role_owns_nothing_and_cannot_create_or_empty(self, database):
        roles.prepare(database, "word")
        with psycopg.connect(database) as owner:
            owner.execute("CREATE TABLE thing (id int)")

        with psycopg.connect(roles.app_url(database, "word"), autocommit=True) as web:
            web.execute("INSERT INTO thing VALUES (1)")
            for statement in (
                "CREATE TABLE other (id int)",
                "TRUNCATE thing",
                "ALTER TABLE thing DISABLE ROW LEVEL SECURITY",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    web.execute(statement)

    def test_neither_role_bypasses_row_level_security_and_platform_takes_a_wish(self, database):
        roles.prepare(database, "word")
        with psycopg.connect(database) as owner:
            owner.execute("CREATE TABLE thing (id int)")
            owner.execute("INSERT INTO thing VALUES (1)")
            owner.execute("ALTER TABLE thing ENABLE ROW LEVEL SECURITY")
            owner.execute("CREATE POLICY all_rows ON thing TO steelyard_platform USING (true)")

        with psycopg.connect(roles.app_url(database, "word")) as web:
            assert web.execute("SELECT count(*) FROM thing").fetchone() == (0,)
            web.execute("SET LOCAL ROLE steelyard_platform")
            assert web.execute("SELECT count(*) FROM thing").fetchone() == (1,)

    def test_functions_are_closed_until_granted(self, database):
        roles.prepare(database, "word")
        with psycopg.connect(database) as owner:
            owner.execute("CREATE FUNCTION secret() RETURNS int LANGUAGE sql AS 'SELECT 1'")

        with (
            psycopg.connect(roles.app_url(database, "word")) as web,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            web.execute("SELECT secret()")

    def test_an_owner_who_cannot_see_all_rows_is_refused_with_the_remedy(self, database):
        roles.prepare(database, "word")

        with pytest.raises(CannotStart, match="ALTER ROLE steelyard_app BYPASSRLS"):
            roles.prepare(roles.app_url(database, "word"), "other")

    def test_an_owner_with_bypassrls_is_enough(self, server):
        name = f"owner_{secrets.token_hex(4)}"
        with psycopg.connect(server.owner_url, autocommit=True) as connection:
            words = "CREATE ROLE {} LOGIN BYPASSRLS CREATEROLE PASSWORD 'word'"
            connection.execute(sql.SQL(words).format(sql.Identifier(name)))
            words = "GRANT steelyard_app, steelyard_platform TO {} WITH ADMIN OPTION"
            connection.execute(sql.SQL(words).format(sql.Identifier(name)))
            words = "CREATE DATABASE {} OWNER {} TEMPLATE template0"
            connection.execute(sql.SQL(words).format(sql.Identifier(name), sql.Identifier(name)))
        host = urlsplit(server.owner_url).netloc.rpartition("@")[2]
        owner_url = f"postgresql://{name}:word@{host}/{name}"

        roles.prepare(owner_url, "word")

        with psycopg.connect(roles.app_url(owner_url, "word")) as web:
            assert web.execute("SELECT current_user::text").fetchone() == ("steelyard_app",)

    def test_a_server_that_does_not_answer_gives_one_line(self):
        with pytest.raises(CannotStart, match="cannot be prepared") as caught:
            roles.prepare("postgresql://nobody:x@127.0.0.1:1/none", "word")

        assert len(str(caught.value).splitlines()) == 1


class TestPrepareDatabase:
    """The command, for databases that `make up` does not start."""

    def test_it_prepares_what_the_two_addresses_name(self, database):
        web = roles.app_url(database, "a word")

        with mock.patch.dict(os.environ, {"DATABASE_OWNER_URL": database, "DATABASE_URL": web}):
            call_command("prepare_database", stdout=io.StringIO())

        with psycopg.connect(web) as connection:
            assert connection.execute("SELECT current_user::text").fetchone() == ("steelyard_app",)

    @pytest.mark.parametrize("given", [{"DATABASE_OWNER_URL": ""}, {"DATABASE_URL": "postgresql://other:x@host/name"}])
    def test_what_it_needs_is_told_in_one_line(self, database, given):
        proper = {"DATABASE_OWNER_URL": database, "DATABASE_URL": roles.app_url(database, "a word")}

        with (
            mock.patch.dict(os.environ, proper | given),
            pytest.raises(CommandError, match="Give the owner's address in DATABASE_OWNER_URL"),
        ):
            call_command("prepare_database")
