"""The database, out into a file and back, by PostgreSQL's own tools."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from psycopg import IsolationLevel
from psycopg.conninfo import conninfo_to_dict

from portal.backup.errors import CannotBackUp, CannotRestore
from portal.up.errors import CannotStart
from portal.up.postgres import find_binaries

_CONNECT_SECONDS = 10
_LIBPQ = {
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "options": "PGOPTIONS",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
}
_NOT_OURS_TO_MAKE = re.compile(r"\d+; \d+ \d+ (DEFAULT ACL|EXTENSION|COMMENT - EXTENSION|COMMENT - SCHEMA|SCHEMA) ")
"""Entries that `roles.prepare` makes itself, for whoever owns the new database."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One instant of the database, open as long as it is needed."""

    name: str
    at: datetime
    postgres: int
    migrations: tuple[str, ...]
    size: int


@contextmanager
def snapshot(owner_url: str) -> Iterator[Snapshot]:
    """Raises CannotBackUp where the database does not answer or is not a platform's."""
    try:
        with psycopg.connect(owner_url, connect_timeout=_CONNECT_SECONDS) as connection:
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            row = connection.execute(
                "SELECT pg_export_snapshot(), clock_timestamp(), current_setting('server_version_num')::int / 10000,"
                " pg_database_size(current_database())"
            ).fetchone()
            assert row is not None
            done = connection.execute("SELECT app || '.' || name FROM django_migrations ORDER BY id").fetchall()
            yield Snapshot(row[0], row[1].astimezone(UTC), row[2], tuple(name for (name,) in done), row[3])
    except psycopg.errors.UndefinedTable as error:
        raise CannotBackUp("This database holds no platform: nothing was migrated yet.") from error
    except psycopg.Error as error:
        raise CannotBackUp(f"The database cannot be read: {_first_line(error)}") from error


def dump(owner_url: str, taken: Snapshot, target: Path, *, tools: Path | None) -> None:
    words = ["--format=custom", f"--snapshot={taken.name}", f"--file={target}", "--no-password"]
    done = _run(_tool("pg_dump", tools), words, owner_url)
    if done.returncode:
        raise CannotBackUp(f"pg_dump failed: {_last_line(done.stderr)}")


def server_version(owner_url: str) -> int:
    try:
        with psycopg.connect(owner_url, connect_timeout=_CONNECT_SECONDS) as connection:
            return connection.info.server_version // 10000
    except psycopg.Error as error:
        raise CannotRestore(f"The database cannot be reached: {_first_line(error)}") from error


def refuse_filled(owner_url: str) -> None:
    """A restore adds to nothing."""
    try:
        with psycopg.connect(owner_url, connect_timeout=_CONNECT_SECONDS) as connection:
            row = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    except psycopg.Error as error:
        raise CannotRestore(f"The database cannot be reached: {_first_line(error)}") from error
    if row and row[0]:
        raise CannotRestore(f"The database is not empty ({row[0]} tables): give an empty one.")


def restore(owner_url: str, source: Path, *, tools: Path | None) -> None:
    """All or nothing: one transaction. Roles and extensions are there already."""
    tool = _tool("pg_restore", tools)
    listed = subprocess.run([tool, "--list", str(source)], capture_output=True, text=True, check=False)
    if listed.returncode:
        raise CannotRestore(f"The archive's database cannot be read: {_last_line(listed.stderr)}")
    with tempfile.NamedTemporaryFile("w", dir=source.parent) as chosen:
        chosen.writelines(f"{line}\n" for line in listed.stdout.splitlines() if not _NOT_OURS_TO_MAKE.match(line))
        chosen.flush()
        words = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-password", f"--use-list={chosen.name}"]
        done = _run(tool, [*words, f"--dbname={_variables(owner_url)['PGDATABASE']}", str(source)], owner_url)
    if done.returncode:
        raise CannotRestore(f"pg_restore failed: {_telling(done.stderr)}")
    with psycopg.connect(owner_url, autocommit=True) as connection:
        connection.execute("ANALYZE")


def _tool(name: str, tools: Path | None) -> str:
    """Named by STEELYARD_POSTGRES_TOOLS or the installation, else beside the servers that `make up` would start."""
    try:
        folder = tools or find_binaries().bin_dir
    except CannotStart:
        return name
    return str(folder / name)


def _run(tool: str, words: Sequence[str], owner_url: str) -> subprocess.CompletedProcess[str]:
    """The password goes through the environment: on the command line every user of the machine could read it."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", **_variables(owner_url)}
    try:
        return subprocess.run([tool, *words], env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return subprocess.CompletedProcess([tool], 127, "", f"{tool} is not installed")


def _variables(url: str) -> Mapping[str, str]:
    words = conninfo_to_dict(url)
    return {_LIBPQ[name]: str(value) for name, value in words.items() if name in _LIBPQ and value is not None}


def _telling(said: str) -> str:
    errors = [line for line in said.splitlines() if "error" in line.lower()]
    return errors[0] if errors else _last_line(said)


def _first_line(error: object) -> str:
    return (str(error).strip().splitlines() or ["no message"])[0]


def _last_line(said: str) -> str:
    return (said.strip().splitlines() or ["no message"])[-1]
