"""Anchors: once a day the head of every chain, signed by the installation, is written to a file beside the database.

Whoever rewrites or cuts a chain afterwards would have to change that file too, and could not sign it: the key is no
part of the database. Copy the file elsewhere, and even the installation's own administrators cannot rewrite the past.
The signing key (Ed25519) follows from the installation's field key, so that a restored backup signs as before.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import IO
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import connection

from core import scope
from core.audit_verifier import signed_part
from core.sealing import instant, seal, unsealed_chains
from core.types import Json

_TAIL = 1_048_576


def public_keys() -> list[str]:
    """In hexadecimal, to be kept where the log is verified: today's first, then those of former field keys."""
    return [_key(word).public_key().public_bytes_raw().hex() for word in settings.FIELD_KEYS]


def signed(record: Mapping[str, Json]) -> dict[str, Json]:
    """The record with this installation's key and signature."""
    key = _key(settings.FIELD_KEYS[0])
    return {**record, "key": public_keys()[0], "signature": key.sign(signed_part(record)).hex()}


def anchor_all(*, now: datetime) -> int:
    """Append the head of each chain that this day's part of the file lacks, and wait until the disk has it.

    What waits to be sealed is sealed first: an entry that is chained after an anchor was written after it. Returns
    how many heads were written.
    """
    for organization_id in unsealed_chains():
        while seal(organization_id):
            pass
    with scope.of_platform():
        heads = list(_heads())
    path = anchors_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fresh = list(_missing(file, heads, now))
        file.write("".join(json.dumps(line, sort_keys=True) + "\n" for line in fresh))
        file.flush()
        os.fsync(file.fileno())
    return len(fresh)


def anchors_path() -> Path:
    found = settings.STEELYARD["AUDIT_ANCHORS"]
    assert isinstance(found, Path)
    return found


def anchors() -> Iterator[dict[str, Json]]:
    """Every anchor written so far; none where there is no file yet."""
    path = anchors_path()
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from (json.loads(line) for line in file if line.strip())


def last_anchor(organization_id: UUID) -> dict[str, Json] | None:
    """The newest anchor of a chain within the last megabyte of the file."""
    path = anchors_path()
    if not path.exists():
        return None
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _TAIL, 0))
        lines = file.read().decode(errors="replace").splitlines()
    newest = next((line for line in reversed(lines) if f'"{organization_id}"' in line and line[-1:] == "}"), None)
    found: dict[str, Json] | None = json.loads(newest) if newest and newest.startswith("{") else None
    return found


def _missing(file: IO[str], heads: Iterable[tuple[UUID, int, bytes]], now: datetime) -> Iterator[dict[str, Json]]:
    file.seek(0)
    today = now.astimezone(UTC).date()
    known = {line["organization_id"] for line in map(json.loads, filter(str.strip, file)) if _day(line) == today}
    for organization_id, seq, hash_ in heads:
        if str(organization_id) not in known:
            head: dict[str, Json] = {"kind": "head", "organization_id": str(organization_id), "seq": seq}
            yield signed({**head, "hash": bytes(hash_).hex(), "at": instant(now)})


def _day(line: Mapping[str, str]) -> date:
    return datetime.fromisoformat(line["at"]).date()


def _heads() -> list[tuple[UUID, int, bytes]]:
    """The last sealed entry of each chain, stepping from one chain to the next by the index."""
    with connection.cursor() as cursor:
        cursor.execute(_HEADS)
        return list(cursor.fetchall())


def _key(field_key: str) -> Ed25519PrivateKey:
    secret = base64.b64decode(field_key, altchars=b"-_", validate=True)
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"steelyard audit anchors").derive(secret)
    return Ed25519PrivateKey.from_private_bytes(derived)


_HEADS = """
    WITH RECURSIVE chain AS (
        (SELECT organization_id FROM core_auditevent WHERE seq IS NOT NULL ORDER BY organization_id LIMIT 1)
        UNION ALL
        SELECT (
            SELECT e.organization_id FROM core_auditevent e
            WHERE e.organization_id > chain.organization_id AND e.seq IS NOT NULL ORDER BY e.organization_id LIMIT 1
        ) FROM chain WHERE chain.organization_id IS NOT NULL
    )
    SELECT head.organization_id, head.seq, head.hash FROM chain CROSS JOIN LATERAL (
        SELECT organization_id, seq, hash FROM core_auditevent e
        WHERE e.organization_id = chain.organization_id AND e.seq IS NOT NULL ORDER BY e.seq DESC LIMIT 1
    ) head
"""
