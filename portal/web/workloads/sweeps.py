"""Sweeps as people type them: a variable a line, its values with commas between. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

Sweep = tuple[tuple[str, tuple[str, ...]], ...]


class Unreadable(ValueError):
    """A line that is no variable with values; its words say why."""


def sweep_of(text: str) -> Sweep:
    """By the names' order. A value with a comma or a blank at its edge stands in double quotes. Raises Unreadable."""
    found: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        name, equals, rest = (part.strip() for part in line.partition("="))
        if not line.strip():
            continue
        if not equals or not name or not rest:
            raise Unreadable(f"“{line.strip()[:40]}” is not NAME=value, value.")
        if name in found:
            raise Unreadable(f"{name[:40]} stands there twice.")
        found[name] = _values(rest)
    return tuple(sorted(found.items()))


def typed(sweep: Sweep) -> str:
    """Lines that `sweep_of` reads back as this sweep."""
    return "\n".join(f"{name}={_line(values)}" for name, values in sweep)


def _values(rest: str) -> tuple[str, ...]:
    try:
        (row,) = csv.reader([rest], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise Unreadable("A double quote is opened and not closed, or stands inside a value.") from None
    return tuple(row)


def _line(values: Sequence[str]) -> str:
    written = io.StringIO()
    edges = any(value != value.strip() or not value for value in values)
    writer = csv.writer(written, lineterminator="", quoting=csv.QUOTE_ALL if edges else csv.QUOTE_MINIMAL)
    writer.writerow(values)
    return written.getvalue()
