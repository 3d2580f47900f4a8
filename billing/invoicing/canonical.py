"""A document's one spelling, and the chain over it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from core.types import Json

GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class Link:
    """A document as the chain of its series holds it."""

    sequence: int
    number: str
    body: str
    previous_hash: str
    hash: str


def spelled(document: dict[str, Json]) -> str:
    """Sorted keys, no spaces, text as it is: the same words everywhere. Floats have no place in it."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def chained(body: str, previous_hash: str) -> str:
    """SHA-256 over the hash before, a line feed and the body."""
    return hashlib.sha256(f"{previous_hash}\n{body}".encode()).hexdigest()


def faults(links: Iterable[Link]) -> list[str]:
    """What is wrong with a series: gaps, a body that was changed, a link that does not follow. Empty: nothing."""
    found, expected, previous = [], 1, GENESIS
    for link in links:
        if link.sequence != expected:
            found.append(f"{link.number}: {expected} is missing before it.")
        if link.previous_hash != previous:
            found.append(f"{link.number}: it does not follow the one before.")
        if chained(link.body, link.previous_hash) != link.hash:
            found.append(f"{link.number}: its content is not what was issued.")
        expected, previous = link.sequence + 1, link.hash
    return found
