"""The last lines of a log that anybody may have filled with anything."""

from __future__ import annotations

import os
from pathlib import Path

BYTES_PER_LINE = 400
LONGEST_LINE = 2_000


def tail_of(path: Path, *, lines: int) -> tuple[str, ...]:
    """At most so many last lines, without control characters."""
    if lines <= 0:
        return ()
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = max(0, size - lines * BYTES_PER_LINE)
            file.seek(start)
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ()
    found = text.splitlines()
    if start > 0 and len(found) > 1:
        found = found[1:]
    return tuple(_plain(line) for line in found[-lines:])


def _plain(line: str) -> str:
    return "".join(char for char in line[:LONGEST_LINE] if char.isprintable() or char == "\t")
