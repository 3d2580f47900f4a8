"""What an archive says of itself. It is the archive's last member: one without it was cut short."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from portal.backup.errors import CannotRestore

MANIFEST, DATABASE, WORKSPACES = "manifest.json", "database.dump", "workspaces"
SECRETS, PEOPLE, UIDS, RUNS = "secrets.json", "people.json", "uids.json", "runs.json"
SMALL_PARTS = (SECRETS, PEOPLE, UIDS, RUNS)
FORMAT = 1
_PIECE = 2**20
_ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class Manifest:
    """`parts` are the SHA-256 of every part; `migrations` what the database had been through."""

    format: int
    version: str
    taken_at: str
    postgres: int
    migrations: tuple[str, ...]
    parts: Mapping[str, str]
    files: int
    left_out: int

    def dump(self) -> bytes:
        return json.dumps(asdict(self), indent=1).encode()


def load(text: bytes) -> Manifest:
    try:
        content = json.loads(text)
        content["migrations"] = tuple(content["migrations"])
        if int(content["format"]) > FORMAT:
            raise _newer(str(content.get("version")))
        return Manifest(**content)
    except (ValueError, KeyError, TypeError) as error:
        raise CannotRestore("The archive's manifest cannot be read: it was damaged.") from error


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def own_version() -> str:
    return str(tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["version"])


def refuse_newer(manifest: Manifest, *, known_migrations: Sequence[str]) -> None:
    """An older program cannot read what a newer one wrote."""
    if _numbers(manifest.version) > _numbers(own_version()) or not set(manifest.migrations) <= set(known_migrations):
        raise _newer(manifest.version)


class Digest:
    """Reads from a file and remembers the SHA-256 of what was read."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._sum = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece = self._source.read(size)
        self._sum.update(piece)
        return piece

    def drain(self) -> str:
        while self.read(_PIECE):
            pass
        return self.hexdigest()

    def hexdigest(self) -> str:
        return self._sum.hexdigest()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(word) for word in version.split(".") if word.isdigit())


def _newer(version: str) -> CannotRestore:
    return CannotRestore(
        f"The archive was made by a newer version ({version}; this is {own_version()}): upgrade first."
    )
