"""The same wish twice is one wish: answers of POSTs that succeeded are kept for 24 hours, per actor and key.

An answer is stored in the act's own transaction, so that there is never an act without its answer or an answer without
its act; a refusal is not stored and may be tried again.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from core import locks
from core.errors import Busy, FieldError, Invalid, SteelyardError
from core.models import IdempotencyKey

KEPT = timedelta(hours=24)
_KEY = re.compile(r"^[\x21-\x7e]{1,200}$")


class KeyReused(SteelyardError):
    """An idempotency key came back with another request."""

    code = "idempotency_key_reused"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One POST of one actor under a key. Path includes the query."""

    organization_id: UUID
    actor_id: UUID
    key: str
    method: str
    path: str
    body_hash: bytes


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    status: int
    headers: dict[str, str]
    body: str


def attempt(*, organization_id: UUID, actor_id: UUID, key: str, method: str, path: str, body: bytes) -> Attempt:
    """Raises Invalid for a key that is empty, longer than 200 characters or not printable ASCII."""
    if not _KEY.match(key):
        raise Invalid([FieldError("Idempotency-Key", "invalid", "A key is 1 to 200 printable ASCII characters.")])
    return Attempt(organization_id, actor_id, key, method, path[:500], hashlib.sha256(body).digest())


def begin(attempt: Attempt, *, now: datetime) -> StoredAnswer | None:
    """Take the key until the transaction ends. The stored answer, where there is one.

    Raises Busy while another transaction holds the key, KeyReused where the key was spent on another request.
    """
    words = (str(attempt.organization_id), str(attempt.actor_id), attempt.key)
    if not locks.try_lock("idempotency", *words):
        raise Busy("The first request with this Idempotency-Key is still running. Ask again in a second.")
    kept = IdempotencyKey.objects.filter(
        organization_id=attempt.organization_id,
        actor_id=attempt.actor_id,
        key=attempt.key,
        created_at__gt=now - KEPT,
    ).first()
    if kept is None:
        return None
    same = (kept.method, kept.path, bytes(kept.body_hash)) == (attempt.method, attempt.path, attempt.body_hash)
    if not same:
        raise KeyReused("This Idempotency-Key was used for another request. Use a new key for a new request.")
    return StoredAnswer(kept.status, kept.headers, kept.body)


def store(attempt: Attempt, answer: StoredAnswer, *, now: datetime) -> None:
    """Keep the answer of an act that succeeded, and forget this actor's old ones."""
    mine = IdempotencyKey.objects.filter(organization_id=attempt.organization_id, actor_id=attempt.actor_id)
    mine.filter(created_at__lte=now - KEPT).delete()
    IdempotencyKey.objects.create(
        organization_id=attempt.organization_id,
        actor_id=attempt.actor_id,
        key=attempt.key,
        method=attempt.method,
        path=attempt.path,
        body_hash=attempt.body_hash,
        status=answer.status,
        headers=answer.headers,
        body=answer.body,
        created_at=now,
    )
