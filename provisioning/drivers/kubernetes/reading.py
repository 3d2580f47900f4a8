"""Reads objects of the Kubernetes API as plain JSON. What is missing or of another kind reads as empty."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeAlias

Json: TypeAlias = dict[str, object]


def at(thing: object, *path: str) -> object:
    """The value below these keys, else None."""
    for key in path:
        if not isinstance(thing, Mapping):
            return None
        thing = thing.get(key)
    return thing


def text(thing: object, *path: str) -> str:
    found = at(thing, *path)
    return found if isinstance(found, str) else ""


def number(thing: object, *path: str) -> int:
    found = at(thing, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def part(thing: object, *path: str) -> Json:
    found = at(thing, *path)
    return found if isinstance(found, dict) else {}


def rows(thing: object, *path: str) -> list[Json]:
    found = at(thing, *path)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def words(thing: object, *path: str) -> list[str]:
    found = at(thing, *path)
    return [word for word in found if isinstance(word, str)] if isinstance(found, list) else []


def instant(thing: object, *path: str) -> datetime | None:
    """In UTC. The API server writes whole seconds, except in leases and newer events."""
    try:
        return datetime.fromisoformat(text(thing, *path)).astimezone(UTC)
    except ValueError:
        return None


def name_of(thing: object) -> str:
    return text(thing, "metadata", "name")


def labels_of(thing: object) -> Json:
    return part(thing, "metadata", "labels")


def condition(thing: object, kind: str) -> Json:
    """The condition of that type in the status, else an empty one."""
    return next((row for row in rows(thing, "status", "conditions") if row.get("type") == kind), {})
