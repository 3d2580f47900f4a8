"""A user id of its own for each project, for ever: never given to another project."""

from __future__ import annotations

import fcntl
import json
import os
import pwd
from pathlib import Path
from uuid import UUID

from provisioning.drivers.base import DriverUnavailable
from provisioning.drivers.local.config import LocalConfig

BOOK, LOCK = "uids.json", "uids.lock"


def uid_of(project_id: UUID, config: LocalConfig) -> int:
    """The project's user id, taken on first use."""
    book = _read(config.state_dir / BOOK)
    if (known := book.get(str(project_id))) is not None:
        return known
    with (config.state_dir / LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        book = _read(config.state_dir / BOOK)
        if (known := book.get(str(project_id))) is not None:
            return known
        uid = _next(book, config)
        _write(config.state_dir / BOOK, {**book, str(project_id): uid})
        return uid


def _next(book: dict[str, int], config: LocalConfig) -> int:
    """Counts up from a point that differs by installation; past the end it starts over."""
    width = config.last_uid - config.first_uid + 1
    start = int(config.installation, 16) % width
    taken = set(book.values())
    after = (start + len(book)) % width
    for step in range(width):
        uid = config.first_uid + (after + step) % width
        if uid not in taken and not _belongs_to_somebody(uid):
            return uid
    raise DriverUnavailable("every user id of the configured range is taken")


def _belongs_to_somebody(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _read(path: Path) -> dict[str, int]:
    try:
        content: dict[str, int] = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return content


def _write(path: Path, book: dict[str, int]) -> None:
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    with aside.open("w") as file:
        aside.chmod(0o600)
        json.dump(book, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
