"""Being the web role: the login that web, proxy, worker and beat have, in the tests' own database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import psycopg
import pytest
from django.db import connection

PLACE = ("HOST", "PORT", "USER", "PASSWORD")


@dataclass(frozen=True)
class Login:
    host: str
    port: int
    user: str
    password: str
    database: str

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(
            host=self.host, port=self.port, user=self.user, password=self.password, dbname=self.database
        )


def web_login() -> Login:
    """The web role's, on the server and in the database of this test run."""
    address = os.environ.get("STEELYARD_TEST_APP_URL")
    if not address:
        pytest.skip("STEELYARD_TEST_APP_URL is not set: DATABASE_URL names a server whose web role is not known.")
    parts = urlsplit(address)
    assert parts.hostname
    assert parts.port
    return Login(parts.hostname, parts.port, unquote(parts.username or ""), unquote(parts.password or ""), _database())


def owner_login() -> Login:
    settings = connection.settings_dict
    own = _OWNER or {name: settings[name] for name in PLACE}
    return Login(own["HOST"], int(own["PORT"]), own["USER"], own["PASSWORD"], _database())


@contextmanager
def django_logged_in_as(login: Login) -> Iterator[None]:
    """Everything that Django asks of the database is asked under this login, until the end of the block."""
    before = {name: connection.settings_dict[name] for name in PLACE}
    first = not _OWNER
    if first:
        _OWNER.update(before)
    _reconnect({"HOST": login.host, "PORT": login.port, "USER": login.user, "PASSWORD": login.password})
    try:
        yield
    finally:
        _reconnect(before)
        if first:
            _OWNER.clear()


_OWNER: dict[str, str] = {}


def _reconnect(place: dict[str, object]) -> None:
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    connection.settings_dict.update(place)


def _database() -> str:
    return str(connection.settings_dict["NAME"])
