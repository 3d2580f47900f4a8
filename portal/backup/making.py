"""Making an archive: beside a running platform, in one piece or not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import IO

import psutil

from portal.backup import database, installations, trees
from portal.backup.errors import CannotBackUp
from portal.backup.installations import Installation
from portal.backup.manifest import (
    DATABASE,
    FORMAT,
    MANIFEST,
    PEOPLE,
    RUNS,
    SECRETS,
    UIDS,
    WORKSPACES,
    Digest,
    Manifest,
    own_version,
)
from provisioning.services.copies import runs_as_of

_SPARE_BYTES = 16 * 2**20
_UNFINISHED = re.compile(r"^\.steelyard-backup\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class Made:
    path: Path
    size: int
    files: int
    left_out: int


def back_up(of: Installation, target: Path | None) -> Made:
    """Raises CannotBackUp, CannotStart or OSError; then nothing is left of it."""
    path = (target or of.home / "backups" / f"{datetime.now(UTC):%Y-%m-%dT%H%M%S.%fZ}.tar").absolute()
    if path.exists():
        raise CannotBackUp(f"{path} is there already: choose another name.")
    if target is None:
        path.parent.mkdir(mode=0o700, exist_ok=True)
    _clear_unfinished(path.parent)
    with installations.database(of) as owner_url, database.snapshot(owner_url) as taken:
        _refuse_small_disk(path.parent, taken.size + _size_of(of.home / WORKSPACES))
        with _unfinished(path.parent, "database") as dumped, _unfinished(path.parent, "archive") as archive:
            database.dump(owner_url, taken, dumped, tools=of.tools)
            manifest = _write(archive, of, taken, dumped)
            _publish(archive, path)
    _make_lasting(path.parent)
    return Made(path=path, size=path.stat().st_size, files=manifest.files, left_out=manifest.left_out)


def _write(archive: Path, of: Installation, taken: database.Snapshot, dumped: Path) -> Manifest:
    """The database comes first: what is created meanwhile is then one file too many, never one too few."""
    runs = runs_as_of(taken.at, state=of.home)
    small = {SECRETS: json.dumps(of.keys()).encode(), RUNS: json.dumps(runs).encode(), **_kept_as_they_are(of.home)}
    with archive.open("wb") as file:
        with tarfile.open(fileobj=file, mode="w:", format=tarfile.PAX_FORMAT) as tar:
            parts = {name: _add_bytes(tar, name, content) for name, content in small.items()}
            with dumped.open("rb") as source:
                parts[DATABASE] = _add(tar, DATABASE, source, dumped.stat().st_size)
            tally = trees.pack(tar, of.home / WORKSPACES)
            manifest = Manifest(
                format=FORMAT,
                version=own_version(),
                taken_at=taken.at.isoformat(),
                postgres=taken.postgres,
                migrations=taken.migrations,
                parts=parts | {WORKSPACES: tally.sum.hexdigest()},
                files=tally.files,
                left_out=tally.left_out,
            )
            _add_bytes(tar, MANIFEST, manifest.dump())
        file.flush()
        os.fsync(file.fileno())
    return manifest


def _kept_as_they_are(home: Path) -> dict[str, bytes]:
    return {name: (home / name).read_bytes() for name in (PEOPLE, UIDS) if (home / name).exists()}


def _add_bytes(tar: tarfile.TarFile, name: str, content: bytes) -> str:
    return _add(tar, name, BytesIO(content), len(content))


def _add(tar: tarfile.TarFile, name: str, source: IO[bytes], size: int) -> str:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, 0o600, int(datetime.now(UTC).timestamp())
    digest = Digest(source)
    tar.addfile(member, digest)
    return digest.hexdigest()


def _publish(archive: Path, path: Path) -> None:
    """Whole under its name at once. A link refuses to take another's place; not every file system has them."""
    try:
        os.link(archive, path)
    except FileExistsError:
        raise
    except OSError:
        archive.rename(path)


@contextmanager
def _unfinished(folder: Path, what: str) -> Iterator[Path]:
    """A file that nobody else can read, gone afterwards."""
    path = folder / f".steelyard-backup.{os.getpid()}.{what}"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _clear_unfinished(folder: Path) -> None:
    """What a killed backup left."""
    for path in folder.iterdir():
        found = _UNFINISHED.match(path.name)
        if found and not psutil.pid_exists(int(found[1])):
            path.unlink(missing_ok=True)


def _refuse_small_disk(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE_BYTES:
        raise CannotBackUp(
            f"The disk of {folder} is too full: {free // 2**20} MiB are free, "
            f"up to {(needed + _SPARE_BYTES) // 2**20} MiB are needed."
        )


def _size_of(folder: Path) -> int:
    total = 0
    for _, _, files, descriptor in os.fwalk(folder, follow_symlinks=False):
        for name in files:
            try:
                total += os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_size
            except OSError:
                continue
    return total


def _make_lasting(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
