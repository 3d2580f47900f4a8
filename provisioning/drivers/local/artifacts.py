"""What a job leaves in its folder for artefacts. The workload could have put anything there: no link is followed, and
only plain files of its own user are seen.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from provisioning.drivers.jobs import ARTIFACTS, Artifact, ArtifactMissing, ArtifactRead, Artifacts
from provisioning.drivers.local import beneath

MOST_FILES: Final = 1_000
MOST_LOOKED_AT: Final = 20_000
DEEPEST: Final = 8
PIECE: Final = 256 * 1024


def found(home: Path) -> Artifacts:
    """By path. `truncated`: there are more than are told."""
    files: list[Artifact] = []
    looked_at = 0
    try:
        with beneath.folder(home, (ARTIFACTS,)) as root:
            for file in _below(root, "", home.stat().st_uid, DEEPEST):
                looked_at += 1
                if looked_at > MOST_LOOKED_AT or len(files) > MOST_FILES:
                    break
                if file is not None:
                    files.append(file)
    except OSError:
        return Artifacts(())  # it has made none, or none that is a folder
    files.sort(key=lambda file: file.path)
    return Artifacts(tuple(files[:MOST_FILES]), truncated=looked_at > MOST_LOOKED_AT or len(files) > MOST_FILES)


def read(home: Path, path: str) -> ArtifactRead:
    """Raises ArtifactMissing for what is no plain file of the workload's own there."""
    names = path.split("/")
    try:
        if len(names) > DEEPEST:
            raise beneath.NotPlain(path)
        descriptor = beneath.file(home, (ARTIFACTS, *names))
    except OSError as error:
        raise ArtifactMissing(path) from error
    status = os.fstat(descriptor)
    if status.st_uid != home.stat().st_uid:
        os.close(descriptor)
        raise ArtifactMissing(path)
    return ArtifactRead(status.st_size, _pieces(descriptor, status.st_size))


def _below(folder: int, prefix: str, owner: int, levels: int) -> Iterator[Artifact | None]:
    """Every entry below, None for what is no artefact. A folder that goes meanwhile is empty."""
    with os.scandir(folder) as entries:
        for entry in entries:
            yield None
            if not entry.name.isprintable():
                continue
            path = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from _inside(folder, entry.name, path, owner, levels)
                continue
            status = entry.stat(follow_symlinks=False)
            if beneath.is_plain(status) and status.st_uid == owner:
                yield Artifact(path, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))


def _inside(folder: int, name: str, path: str, owner: int, levels: int) -> Iterator[Artifact | None]:
    if levels <= 1:
        return
    try:
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return
    try:
        yield from _below(inner, f"{path}/", owner, levels - 1)
    finally:
        os.close(inner)


def _pieces(descriptor: int, size: int) -> Generator[bytes]:
    """As much as there was when it was opened: what grows meanwhile is cut, what shrinks ends early."""
    with os.fdopen(descriptor, "rb") as file:
        while size > 0 and (piece := file.read(min(PIECE, size))):
            size -= len(piece)
            yield piece
