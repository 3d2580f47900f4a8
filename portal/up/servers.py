"""The two servers of one installation: those that were given by address, else our own."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import redis

from portal.up import roles
from portal.up.accounts import Account
from portal.up.child import Child, Spec
from portal.up.errors import CannotStart
from portal.up.ports import free_port, is_free
from portal.up.postgres import Postgres, find_binaries, reachable_binaries
from portal.up.state import Secrets, State, write_private
from portal.up.supervisor import Supervisor
from portal.up.valkey import Valkey, find_binary, reachable_binary

_READY_SECONDS = 60.0
_POSTGRESQL = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class Given:
    """From the environment. `database_url` alone is the owner's; beside an owner's address it may be the web role's."""

    database_url: str | None
    database_owner_url: str | None
    redis_url: str | None

    @staticmethod
    def read(variables: Mapping[str, str]) -> Given:
        def value(name: str) -> str | None:
            return variables.get(name) or None

        return Given(value("DATABASE_URL"), value("DATABASE_OWNER_URL"), value("REDIS_URL"))

    @property
    def owner_url(self) -> str | None:
        return self.database_owner_url or self.database_url


@dataclass(frozen=True, slots=True)
class DatabaseAddresses:
    owner_url: str
    app_url: str
    tools: Path | None


def server_folders(state: State) -> list[Path]:
    """Their working directories, by which a later start finds what a crash left."""
    return [state.home / "postgres" / "data", state.home / "valkey"]


def start_database(
    state: State,
    secrets: Secrets,
    account: Account,
    *,
    given: Given,
    supervisor: Supervisor,
    say: Callable[[str], None],
) -> DatabaseAddresses:
    """A database with roles, grants and extensions."""
    if given.owner_url is not None:
        return prepare_given(given, secrets)
    server = _own_postgres(state, secrets, account)
    server.initialise()
    child = supervisor.start(_spec("postgres", server, account, signal.SIGINT))
    _until_ready("PostgreSQL", server, child, supervisor)
    say(f"PostgreSQL {server.binaries.version} listens on port {server.port}")
    return _prepared(server.owner_url, secrets.app_password, tools=server.binaries.bin_dir)


def prepare_given(given: Given, secrets: Secrets) -> DatabaseAddresses:
    """A server of somebody else's, whose address was given."""
    assert given.owner_url is not None
    if not given.owner_url.startswith(_POSTGRESQL):
        raise CannotStart("DATABASE_URL (or DATABASE_OWNER_URL) must be a postgresql:// address.")
    return _prepared(given.owner_url, _given_app_password(given) or secrets.app_password, tools=None)


def start_broker(
    state: State,
    secrets: Secrets,
    account: Account,
    *,
    given: Given,
    supervisor: Supervisor,
    say: Callable[[str], None],
) -> str:
    if given.redis_url:
        _refuse_silent_broker(given.redis_url)
        return given.redis_url
    server = Valkey(
        binary=reachable_binary(find_binary(), account, state.programs),
        directory=state.home / "valkey",
        account=account,
        port=_kept_port(state, "valkey"),
        password=secrets.redis_password,
    )
    server.initialise()
    child = supervisor.start(_spec("valkey", server, account, signal.SIGTERM))
    _until_ready("Valkey", server, child, supervisor)
    say(f"Valkey listens on port {server.port}")
    return server.url


def _prepared(owner_url: str, password: str, *, tools: Path | None) -> DatabaseAddresses:
    roles.prepare(owner_url, password)
    return DatabaseAddresses(owner_url=owner_url, app_url=roles.app_url(owner_url, password), tools=tools)


def _given_app_password(given: Given) -> str | None:
    parts = urlsplit(given.database_url or "")
    is_app_role = given.database_owner_url is not None and parts.username == roles.APP_ROLE
    return unquote(parts.password) if is_app_role and parts.password else None


def _own_postgres(state: State, secrets: Secrets, account: Account) -> Postgres:
    return Postgres(
        binaries=reachable_binaries(find_binaries(), account, state.programs),
        directory=state.home / "postgres",
        account=account,
        port=_kept_port(state, "postgres"),
        password=secrets.owner_password,
    )


def _spec(name: str, server: Postgres | Valkey, account: Account, polite: signal.Signals) -> Spec:
    return Spec(
        name=name,
        words=tuple(server.command()),
        environment=server.environment(),
        directory=Path("/"),
        polite=polite,
        patience=20.0,
        identity=account.identity,
    )


def _until_ready(name: str, server: Postgres | Valkey, child: Child, supervisor: Supervisor) -> None:
    supervisor.wait_for(name, lambda: child.failed_starts > 0 or server.answers(), seconds=_READY_SECONDS)
    if child.failed_starts:
        raise CannotStart(f"{name} fails to start: {child.last_lines()} (log: {child.log})")


def _kept_port(state: State, name: str) -> int:
    """The same as last time, unless somebody else has taken it meanwhile."""
    path = state.home / "ports.json"
    kept: dict[str, int] = json.loads(path.read_text()) if path.exists() else {}
    if name not in kept or not is_free(kept[name]):
        kept[name] = free_port()
        write_private(path, json.dumps(kept))
    return kept[name]


def _refuse_silent_broker(url: str) -> None:
    try:
        redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5).ping()
    except (redis.RedisError, ValueError) as error:
        raise CannotStart(f"The server of REDIS_URL cannot be used: {error}") from error
