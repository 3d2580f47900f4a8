"""The database's roles: an owner that runs migrations and backups, and a web role that owns nothing and sees only its
rows.

`steelyard_app` is what web, proxy, worker and beat log in as. It may become `steelyard_platform` for a transaction
(the console, after authorising); row-level security binds both. EXECUTE on functions is granted function by function,
where they are made.
"""

from __future__ import annotations

from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from portal.up.errors import CannotStart

APP_ROLE = "steelyard_app"
PLATFORM_ROLE = "steelyard_platform"
EXTENSIONS = ("btree_gist", "pg_trgm", "pgcrypto")
OLDEST_VERSION = 15
_CONNECT_SECONDS = 10
_SCHEMA = sql.Identifier("public")


def prepare(owner_url: str, app_password: str) -> None:
    """Create or renew roles, grants and extensions in the owner's database. Safe to repeat; raises CannotStart."""
    try:
        with psycopg.connect(owner_url, connect_timeout=_CONNECT_SECONDS) as connection:
            _refuse_old_server(connection)
            is_superuser = _refuse_weak_owner(connection)
            _one_at_a_time(connection)
            _create_role(connection, APP_ROLE, "LOGIN NOINHERIT")
            _create_role(connection, PLATFORM_ROLE, "NOLOGIN NOINHERIT")
            _set_password(connection, APP_ROLE, app_password)
            _run(connection, "GRANT {} TO {}", PLATFORM_ROLE, APP_ROLE)
            if not is_superuser:
                _let_owner_act_as_both(connection)
            _create_extensions(connection)
            _grant(connection)
    except psycopg.Error as error:
        raise CannotStart(f"The database cannot be prepared: {str(error).splitlines()[0]}") from error


def app_url(owner_url: str, app_password: str) -> str:
    """The same server and database as the owner's address, as the web role."""
    parts = urlsplit(owner_url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{APP_ROLE}:{quote(app_password, safe='')}@{host}"))


def _refuse_old_server(connection: Connection[TupleRow]) -> None:
    major = connection.info.server_version // 10_000
    if major < OLDEST_VERSION:
        raise CannotStart(f"The database's server is PostgreSQL {major}; {OLDEST_VERSION} or newer is needed.")


def _refuse_weak_owner(connection: Connection[TupleRow]) -> bool:
    """Whether the owner is a superuser. Backups and definer functions must see every tenant's rows."""
    row = connection.execute(
        "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    if row is None or not (row[1] or row[2]):
        name = row[0] if row else "unknown"
        raise CannotStart(
            f"The database owner “{name}” must be a superuser or have BYPASSRLS: "
            f"ALTER ROLE {name} BYPASSRLS CREATEROLE;"
        )
    return bool(row[1])


def _one_at_a_time(connection: Connection[TupleRow]) -> None:
    connection.execute("SELECT pg_advisory_xact_lock(hashtext('steelyard.roles'))")


def _create_role(connection: Connection[TupleRow], name: str, attributes: str) -> None:
    """An owner that is no superuser may change only some attributes of a role that is there already."""
    exists = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone()
    verb = "ALTER" if exists else "CREATE"
    statement = sql.SQL("{} ROLE {} {}").format(sql.SQL(verb), sql.Identifier(name), sql.SQL(attributes))
    connection.execute(statement)
    _refuse_strong_role(connection, name)


def _refuse_strong_role(connection: Connection[TupleRow], name: str) -> None:
    """A new one is neither; one that was there might be, and only a superuser could take it away."""
    row = connection.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s", [name]).fetchone()
    if row and row[0]:
        raise CannotStart(
            f"The role “{name}” must not bypass row-level security: ALTER ROLE {name} NOSUPERUSER NOBYPASSRLS;"
        )


def _set_password(connection: Connection[TupleRow], name: str, password: str) -> None:
    """Only its hash is sent, so that no server log can hold it."""
    hashed = connection.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256").decode()
    connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(name), sql.Literal(hashed)))


def _let_owner_act_as_both(connection: Connection[TupleRow]) -> None:
    statement = sql.SQL("GRANT {}, {} TO CURRENT_USER").format(sql.Identifier(APP_ROLE), sql.Identifier(PLATFORM_ROLE))
    connection.execute(statement)


def _create_extensions(connection: Connection[TupleRow]) -> None:
    """Their functions stay open to all, whatever this database's default for new functions has become."""
    connection.execute("ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC")
    for extension in EXTENSIONS:
        _run(connection, "CREATE EXTENSION IF NOT EXISTS {}", extension)


def _grant(connection: Connection[TupleRow]) -> None:
    """On what is there and on what the owner will create. TRUNCATE, REFERENCES and TRIGGER are never granted."""
    database = sql.Identifier(connection.info.dbname)
    both = sql.SQL(", ").join([sql.Identifier(APP_ROLE), sql.Identifier(PLATFORM_ROLE)])
    statements = [
        sql.SQL("REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC"),
        sql.SQL("GRANT CONNECT ON DATABASE {database} TO {both}"),
        sql.SQL("GRANT USAGE ON SCHEMA {schema} TO {both}"),
        sql.SQL("ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {both}"),
        sql.SQL("ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT USAGE, SELECT ON SEQUENCES TO {both}"),
        sql.SQL("ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC"),
    ]
    for statement in statements:
        connection.execute(statement.format(schema=_SCHEMA, database=database, both=both))


def _run(connection: Connection[TupleRow], template: str, *names: str) -> None:
    connection.execute(sql.SQL(template).format(*(sql.Identifier(name) for name in names)))
