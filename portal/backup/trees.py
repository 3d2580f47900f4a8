"""Workspaces' files, into an archive and out of it.

Both ends are hostile: the files belong to people who may swap a folder for a link while it is read, and an archive may
have been written by anybody. Nothing here follows a link.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
from collections.abc import Collection
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from portal.backup.errors import CannotRestore
from portal.backup.manifest import WORKSPACES

_PIECE = 2**20
_MODE = 0o777
_KINDS = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE)


class Sum(Protocol):
    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...


@dataclass
class Tally:
    """One digest over names, kinds, owners, modes and contents; how many there were and how many could not be kept."""

    files: int = 0
    left_out: int = 0
    sum: Sum = field(default_factory=hashlib.sha256)

    def head(self, member: tarfile.TarInfo) -> None:
        words = (member.name, member.type, member.mode, member.uid, member.gid, member.size, member.linkname)
        self.sum.update(repr(words).encode("utf-8", "surrogateescape"))
        self.files += 1


class _Exactly(BytesIO):
    """Gives as many bytes as were promised, whatever a writer does to the file meanwhile."""

    def __init__(self, descriptor: int, size: int, tally: Tally) -> None:
        super().__init__()
        self._descriptor, self._left, self._tally = descriptor, size, tally

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self._left if size is None or size < 0 else min(size, self._left)
        found = bytearray()
        while len(found) < wanted:
            piece = os.read(self._descriptor, wanted - len(found))
            found += piece or bytes(wanted - len(found))
        self._left -= wanted
        self._tally.sum.update(bytes(found))
        return bytes(found)


def pack(archive: tarfile.TarFile, folder: Path) -> Tally:
    """Everything below `folder`: folders, files and links. Sockets, pipes and devices are left out."""
    tally = Tally()
    for path, folders, files, descriptor in os.fwalk(folder, follow_symlinks=False):
        folders.sort()
        inside = WORKSPACES / PurePosixPath(path).relative_to(folder)
        _pack_folder(archive, str(inside), os.fstat(descriptor), tally)
        for name in sorted(files) + [name for name in folders if _is_link(name, descriptor)]:
            try:
                _pack_file(archive, str(inside / name), name, descriptor, tally)
            except FileNotFoundError:
                continue  # it was removed meanwhile
            except PermissionError:
                tally.left_out += 1
    return tally


def _pack_folder(archive: tarfile.TarFile, inside: str, found: os.stat_result, tally: Tally) -> None:
    member = _member(inside, tarfile.DIRTYPE, found)
    tally.head(member)
    archive.addfile(member)


def _pack_file(archive: tarfile.TarFile, inside: str, name: str, folder: int, tally: Tally) -> None:
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(found.st_mode):
        member = _member(inside, tarfile.SYMTYPE, found)
        member.linkname = os.readlink(name, dir_fd=folder)
        tally.head(member)
        archive.addfile(member)
        return
    if not stat.S_ISREG(found.st_mode):
        tally.left_out += 1
        return
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            tally.left_out += 1
            return
        member = _member(inside, tarfile.REGTYPE, found)
        member.size = found.st_size
        tally.head(member)
        archive.addfile(member, _Exactly(descriptor, member.size, tally))
    finally:
        os.close(descriptor)


def _member(inside: str, kind: bytes, found: os.stat_result) -> tarfile.TarInfo:
    member = tarfile.TarInfo(inside)
    member.type, member.mode, member.mtime = kind, found.st_mode & _MODE, int(found.st_mtime)
    member.uid, member.gid = found.st_uid, found.st_gid
    return member


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


class Checker:
    """Looks at members in their order, and lets pass only what can lie below one folder."""

    def __init__(self) -> None:
        self.tally = Tally()
        self._folders: set[str] = set()
        self._others: set[str] = set()

    def look(self, member: tarfile.TarInfo, content: IO[bytes] | None) -> None:
        """Raises CannotRestore for a member that would be written elsewhere, or through a link."""
        self._refuse_misplaced(member)
        self.tally.head(member)
        if content is not None:
            while piece := content.read(_PIECE):
                self.tally.sum.update(piece)

    def _refuse_misplaced(self, member: tarfile.TarInfo) -> None:
        path = PurePosixPath(member.name)
        is_plain = member.type in _KINDS and not member.issparse()
        is_below = member.name == str(path) and path.parts[0] == WORKSPACES and ".." not in path.parts
        has_folder = member.name == WORKSPACES or str(path.parent) in self._folders
        is_new = member.name not in self._folders and member.name not in self._others
        if not (is_plain and is_below and has_folder and is_new):
            raise CannotRestore(f"The archive holds “{member.name[:120]}”, which could be written elsewhere: refused.")
        (self._folders if member.isdir() else self._others).add(member.name)


class Unpacker:
    """Members that a Checker has let pass, below `home`. Owners of projects are kept, others become ours."""

    def __init__(self, home: Path, *, owners: Collection[int]) -> None:
        self._home = home
        self._owners = owners if os.geteuid() == 0 else ()
        self._folders: list[tarfile.TarInfo] = []

    def put(self, member: tarfile.TarInfo, content: IO[bytes] | None) -> None:
        """Folders stay closed to all others until everything is in its place."""
        target = self._home / member.name
        if member.isdir():
            target.mkdir(mode=0o700, exist_ok=True)
            self._folders.append(member)
            return
        if member.issym():
            target.symlink_to(member.linkname)
        else:
            write(target, content)
        self._finish(member)

    def finish(self) -> None:
        for member in reversed(self._folders):
            self._finish(member)

    def _finish(self, member: tarfile.TarInfo) -> None:
        target = self._home / member.name
        if member.uid in self._owners:
            os.chown(target, member.uid, member.uid, follow_symlinks=False)
        if not member.issym():
            target.chmod(member.mode & _MODE)
        os.utime(target, (member.mtime, member.mtime), follow_symlinks=False)


def write(target: Path, content: IO[bytes] | None) -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        while content is not None and (piece := content.read(_PIECE)):
            file.write(piece)
