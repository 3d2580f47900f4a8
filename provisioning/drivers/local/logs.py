"""The last lines of a log that anybody may have filled with anything."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from provisioning.drivers.base import LogPiece

BYTES_PER_LINE = 400
LONGEST_LINE = 2_000
MOST_BYTES = 512 * 1024
MOST_LINES = 4_000


def tail_of(path: Path, *, lines: int) -> tuple[str, ...]:
    """At most so many last lines, without control characters."""
    if lines <= 0:
        return ()
    try:
        with path.open("rb") as file:
            return last_of(file, lines=lines)
    except FileNotFoundError:
        return ()


def last_of(file: BinaryIO, *, lines: int) -> tuple[str, ...]:
    """The same of a file that is open."""
    size = os.fstat(file.fileno()).st_size
    start = max(0, size - lines * BYTES_PER_LINE)
    file.seek(start)
    found = file.read(size - start).decode(errors="replace").splitlines()
    if start > 0 and len(found) > 1:
        found = found[1:]
    return tuple(_plain(line) for line in found[-lines:])


def after(path: Path, run: str, mark: str, *, whole: bool) -> LogPiece:
    """What the log of this run has grown by since the mark, `<run>:<offset>`.

    A log that has been shortened goes on at its new end; one that has grown by too much, near its end.
    """
    known_run, _, offset = mark.rpartition(":")
    start = int(offset) if known_run == run and offset else 0
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            missed, start = start > size, min(start, size)
            leaps = size - start > MOST_BYTES
            start = size - MOST_BYTES if leaps else start
            file.seek(start)
            data = file.read(size - start)
    except FileNotFoundError:
        return LogPiece((), mark)
    begin = data.find(b"\n") + 1 if leaps else 0
    end = max(begin, _end_of_lines(data) if whole else len(data))
    lines = data[begin:end].decode(errors="replace").splitlines()
    missed = missed or (bool(mark) and (leaps or len(lines) > MOST_LINES))
    return LogPiece(tuple(_plain(line) for line in lines[-MOST_LINES:]), f"{run}:{start + end}", missed)


def _end_of_lines(data: bytes) -> int:
    """A carriage return ends a line too (bars of progress), unless the line feed may be just behind it."""
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, max(0, len(data) - 1))) + 1


def _plain(line: str) -> str:
    return "".join(char for char in line[:LONGEST_LINE] if char.isprintable() or char == "\t")
