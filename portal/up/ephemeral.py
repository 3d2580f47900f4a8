"""Throw-away servers for the test suite: a real PostgreSQL and a real Valkey in a temporary folder, gone afterwards."""

from __future__ import annotations

import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from portal.up import roles
from portal.up.accounts import Account, server_account
from portal.up.errors import CannotStart
from portal.up.ports import free_port
from portal.up.postgres import OWNER, Postgres, find_binaries, reachable_binaries
from portal.up.processes import end_with_parent
from portal.up.valkey import Valkey, find_binary, reachable_binary

_READY_SECONDS = 60.0
_END_SECONDS = 20.0
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Servers:
    """Every database made from template1 has the roles' grants and the extensions already."""

    owner_url: str
    app_url: str
    app_password: str
    redis_url: str
    directory: Path


@contextmanager
def servers() -> Iterator[Servers]:
    account = server_account()
    with ExitStack() as stack:
        directory = Path(tempfile.mkdtemp(prefix="steelyard-test-"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        directory.chmod(0o711)
        postgres = stack.enter_context(_running_postgres(directory, account))
        valkey = stack.enter_context(_running_valkey(directory, account))
        app_password = secrets.token_urlsafe(24)
        for database in ("template1", "steelyard"):
            roles.prepare(postgres.url(user=OWNER, password=postgres.password, database=database), app_password)
        yield Servers(
            owner_url=postgres.owner_url,
            app_url=roles.app_url(postgres.owner_url, app_password),
            app_password=app_password,
            redis_url=valkey.url,
            directory=directory,
        )


@contextmanager
def _running_postgres(directory: Path, account: Account) -> Iterator[Postgres]:
    server = Postgres(
        binaries=reachable_binaries(find_binaries(), account, directory),
        directory=directory / "postgres",
        account=account,
        port=free_port(),
        password=secrets.token_urlsafe(24),
        durable=False,
    )
    server.initialise()
    with _running(
        server.command(), server.environment(), account, directory / "postgres.log", signal.SIGINT
    ) as process:
        _wait_until_ready(server, process, directory / "postgres.log")
        yield server


@contextmanager
def _running_valkey(directory: Path, account: Account) -> Iterator[Valkey]:
    server = Valkey(
        binary=reachable_binary(find_binary(), account, directory),
        directory=directory / "valkey",
        account=account,
        port=free_port(),
        password=secrets.token_urlsafe(24),
        durable=False,
    )
    server.initialise()
    with _running(server.command(), server.environment(), account, directory / "valkey.log", signal.SIGTERM) as process:
        _wait_until_ready(server, process, directory / "valkey.log")
        yield server


def _wait_until_ready(server: Postgres | Valkey, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not server.answers():
        if process.poll() is not None or time.monotonic() > deadline:
            last = log.read_text(errors="replace").splitlines()[-3:]
            raise CannotStart(f"{log.stem} does not start: {' / '.join(last)}")
        time.sleep(_POLL_SECONDS)


@contextmanager
def _running(
    words: list[str], environment: dict[str, str], account: Account, log: Path, polite: signal.Signals
) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            words,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=end_with_parent(polite),  # noqa: PLW1509 (two system calls, no lock)
            **account.identity,
        )
    try:
        yield process
    finally:
        process.send_signal(polite)
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
