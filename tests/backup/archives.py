"""Archives made by hand, whole or not, without a platform."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from portal.backup import manifest, trees
from portal.backup.manifest import DATABASE, MANIFEST, SECRETS, WORKSPACES, Manifest


def write(
    path: Path,
    *,
    workspaces: Path,
    also: tuple[tarfile.TarInfo, ...] = (),
    change: Callable[[Manifest], Manifest] = lambda found: found,
    small: dict[str, bytes] | None = None,
) -> Path:
    """`also` are members that are put beside the packed files, and are in the digest as a liar would have it."""
    contents = {SECRETS: b'{"secret_key": "s", "field_key": "f"}', DATABASE: b"PGDMP", **(small or {})}
    with tarfile.open(path, "w:", format=tarfile.PAX_FORMAT) as tar:
        for name, content in contents.items():
            _add(tar, name, content)
        tally = trees.pack(tar, workspaces)
        for member in also:
            tally.head(member)
            tar.addfile(member, io.BytesIO(bytes(member.size)))
            tally.sum.update(bytes(member.size))
        found = Manifest(
            format=manifest.FORMAT,
            version=manifest.own_version(),
            taken_at="2026-11-30T12:00:00+00:00",
            postgres=15,
            migrations=(),
            parts={name: manifest.sha256(content) for name, content in contents.items()}
            | {WORKSPACES: tally.sum.hexdigest()},
            files=tally.files,
            left_out=tally.left_out,
        )
        _add(tar, MANIFEST, change(found).dump())
    return path


def newer(found: Manifest) -> Manifest:
    return replace(found, version="999.0.0")


def member(name: str, kind: bytes = tarfile.REGTYPE, *, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    head = tarfile.TarInfo(name)
    head.size = len(content)
    tar.addfile(head, io.BytesIO(content))
