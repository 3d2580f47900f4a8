"""Opens what lies in a folder that somebody else may write: no link is followed, and only plain files are read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotPlain(OSError):
    """A link, a device, a pipe, or a file with a second name: it is left alone."""


@contextmanager
def folder(root: Path, names: Sequence[str]) -> Iterator[int]:
    """A descriptor of the folder with these names below the root. `root` itself is ours. Raises OSError."""
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            inner = os.open(_checked(name), _FOLDER, dir_fd=here)
            os.close(here)
            here = inner
        yield here
    finally:
        os.close(here)


def file(root: Path, names: Sequence[str]) -> int:
    """A descriptor of a plain file below the root. Raises OSError."""
    with folder(root, names[:-1]) as here:
        found = os.open(_checked(names[-1]), _FILE, dir_fd=here)
    try:
        if not is_plain(os.fstat(found)):
            raise NotPlain(f"{names[-1]} is no plain file")
    except OSError:
        os.close(found)
        raise
    return found


def is_plain(status: os.stat_result) -> bool:
    """A file with one name: a second one could be anywhere."""
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def _checked(name: str) -> str:
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise NotPlain("not a name of a file")
    return name
