"""Starting with servers of somebody else's, and every way in which their addresses can be wrong."""

from __future__ import annotations

import secrets
import socket
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from portal.up import roles
from portal.up.ephemeral import servers
from portal.up.errors import CannotStart
from portal.up.ports import free_port

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def theirs():
    with servers() as running:
        yield running


def changed(url: str, **parts: str) -> str:
    return urlunsplit(urlsplit(url)._replace(**parts))


def elsewhere(url: str, port: int) -> str:
    split = urlsplit(url)
    return changed(url, netloc=f"{split.netloc.rpartition('@')[0]}@127.0.0.1:{port}")


class TestGivenServers:
    def test_it_starts_none_of_its_own_and_leaves_theirs_running(self, stand_in, theirs):
        stand_in.given = {"DATABASE_URL": theirs.owner_url, "REDIS_URL": theirs.redis_url}

        stand_in.start()

        assert set(stand_in.installation["pids"]) == {"up", "web", "proxy", "worker", "beat", "watch"}
        assert not (stand_in.state / "postgres").exists()
        assert stand_in.installation["redis_url"] == theirs.redis_url
        assert stand_in.commands[0] == "migrate steelyard"
        assert stand_in.commands[2] == "seed_demo steelyard_app"
        with psycopg.connect(stand_in.installation["database_url"]) as connection:
            assert connection.execute("SELECT current_user::text").fetchone() == ("steelyard_app",)
        assert stand_in.end() == 0
        psycopg.connect(theirs.owner_url).close()

    def test_the_web_roles_own_address_may_be_given_beside_the_owners(self, stand_in, theirs):
        stand_in.given = {
            "DATABASE_OWNER_URL": theirs.owner_url,
            "DATABASE_URL": roles.app_url(theirs.owner_url, "a word of mine"),
            "REDIS_URL": theirs.redis_url,
        }

        stand_in.start()

        assert "a%20word%20of%20mine" in stand_in.installation["database_url"]
        stand_in.end()


class TestRefused:
    """One line, no traceback, non-zero exit (`refused` sees to that), and no password."""

    def _refused(self, stand_in, theirs, **given: str) -> str:
        stand_in.given = {"DATABASE_URL": theirs.owner_url, "REDIS_URL": theirs.redis_url, **given}
        said = str(stand_in.refused())
        for url in (theirs.owner_url, theirs.redis_url):
            assert str(urlsplit(url).password) not in said
        return said

    def test_a_database_that_nobody_serves(self, stand_in, theirs):
        said = self._refused(stand_in, theirs, DATABASE_URL=elsewhere(theirs.owner_url, free_port()))

        assert "The database cannot be prepared" in said
        assert "refused" in said

    def test_a_database_that_is_not_there(self, stand_in, theirs):
        said = self._refused(stand_in, theirs, DATABASE_URL=changed(theirs.owner_url, path="/nowhere"))

        assert "nowhere" in said

    def test_a_wrong_password(self, stand_in, theirs):
        wrong = theirs.owner_url.replace(str(urlsplit(theirs.owner_url).password), "wrong")

        assert "password authentication failed" in self._refused(stand_in, theirs, DATABASE_URL=wrong)

    @pytest.mark.parametrize("scheme", ["mysql", "sqlite", ""])
    def test_another_kind_of_database(self, stand_in, theirs, scheme):
        said = self._refused(stand_in, theirs, DATABASE_URL=changed(theirs.owner_url, scheme=scheme))

        assert "must be a postgresql:// address" in said

    def test_an_owner_without_the_rights(self, stand_in, theirs):
        name = f"weak_{secrets.token_hex(4)}"
        with psycopg.connect(theirs.owner_url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'word'").format(sql.Identifier(name)))
        host = urlsplit(theirs.owner_url).netloc.rpartition("@")[2]

        said = self._refused(stand_in, theirs, DATABASE_URL=f"postgresql://{name}:word@{host}/steelyard")

        assert f"ALTER ROLE {name} BYPASSRLS" in said

    def test_a_broker_that_nobody_serves(self, stand_in, theirs):
        said = self._refused(stand_in, theirs, REDIS_URL=elsewhere(theirs.redis_url, free_port()))

        assert "REDIS_URL cannot be used" in said

    def test_a_broker_with_another_password(self, stand_in, theirs):
        port = urlsplit(theirs.redis_url).port

        said = self._refused(stand_in, theirs, REDIS_URL=f"redis://:wrong@127.0.0.1:{port}/0")

        assert "REDIS_URL cannot be used" in said

    @pytest.mark.parametrize("address", ["nonsense", "http://127.0.0.1:1"])
    def test_an_address_that_is_no_brokers(self, stand_in, theirs, address):
        assert "REDIS_URL cannot be used" in self._refused(stand_in, theirs, REDIS_URL=address)

    def test_a_server_that_listens_and_never_answers(self, stand_in, theirs):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            port = silent.getsockname()[1]

            said = self._refused(stand_in, theirs, DATABASE_URL=elsewhere(theirs.owner_url, port))

        assert "The database cannot be prepared" in said

    def test_a_server_that_is_too_old(self, theirs, monkeypatch):
        monkeypatch.setattr(roles, "OLDEST_VERSION", 99)

        with pytest.raises(CannotStart, match=r"is PostgreSQL \d+; 99 or newer is needed"):
            roles.prepare(theirs.owner_url, "word")
