"""Advisory locks of a transaction. They end with it, so they work through a transaction-pooling PgBouncer."""

from __future__ import annotations

import hashlib

from django.db import connection


def try_lock(*words: str) -> bool:
    """Take the lock that these words name until the transaction ends; False if another transaction holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_number(words)])
        row = cursor.fetchone()
    return bool(row and row[0])


def lock(*words: str) -> None:
    """The same, waiting for it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_number(words)])


def _number(words: tuple[str, ...]) -> int:
    digest = hashlib.blake2b("\0".join(words).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
