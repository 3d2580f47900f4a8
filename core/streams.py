"""Streams: sealed audit entries, in order, to a webhook that an organisation names.

Claim (short scope, lease) → call (no transaction) → apply (short scope, under the lease). One call is on its way per
stream, and the cursor moves only once the receiver has said 2xx: nothing is lost and nothing comes out of order, but a
batch may come twice. A repeated batch bears the same `webhook-id`; every entry bears its `seq`.

Signed as Standard Webhooks (v1): HMAC-SHA256 over `id.timestamp.body`, with the former secret too while it holds.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from django.db import connection

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.encryption import Undecipherable, decrypted
from core.models import AuditEvent, AuditStream
from core.outgoing import NotReached, fetch
from core.sealing import exported, instant
from core.types import Json, ObjectRef, system_actor

AT_ONCE: Final = 100
"""Entries in a call."""
CALLS: Final = 20
"""Calls in a row before others have their turn."""
LEASE: Final = timedelta(seconds=60)
CALL_SECONDS: Final = 10.0
FIRST_WAIT: Final = timedelta(seconds=5)
LONGEST_WAIT: Final = timedelta(minutes=15)
PAUSE_AFTER: Final = timedelta(days=3)
_GONE = 410


@dataclass(frozen=True, slots=True)
class Batch:
    """What one call carries. `lease` tells whether the row is still ours when the call is over."""

    organization_id: UUID
    stream_id: UUID
    lease: datetime
    url: str
    secrets: tuple[str, ...]
    last: int
    id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """`error` is empty where the receiver took the batch. `gone`: it wants no more."""

    error: str = ""
    gone: bool = False


def due_streams(*, now: datetime) -> list[tuple[UUID, UUID]]:
    """(organisation, stream) of those that something waits for. Asked outside any scope; ids only."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT organization_id, stream_id FROM steelyard_due_audit_streams(%s)", [now])
        return [(row[0], row[1]) for row in cursor.fetchall()]


def deliver(*, organization_id: UUID, stream_id: UUID, clock: Callable[[], datetime]) -> int:
    """Send what waits, a batch after the other, until nothing is left or a call fails. How many entries were taken."""
    taken = 0
    for _ in range(CALLS):
        batch = claim(organization_id=organization_id, stream_id=stream_id, now=clock())
        if batch is None:
            return taken
        before = _cursor(batch)
        outcome = call(batch, now=clock())
        if not apply(batch, outcome, now=clock()) or outcome.error:
            return taken
        taken += batch.last - before
    return taken


def claim(*, organization_id: UUID, stream_id: UUID, now: datetime) -> Batch | None:
    """The next batch, or the one that failed; None where nothing waits, the time has not come, or another has it."""
    with scope.of_organization(organization_id):
        stream = AuditStream.objects.select_for_update(skip_locked=True).filter(pk=stream_id).first()
        if stream is None or not _is_due(stream, now):
            return None
        rows = AuditEvent.objects.filter(organization_id=organization_id, seq__gt=stream.cursor).order_by("seq")
        if stream.sending is not None and stream.sending > stream.cursor:
            rows = rows.filter(seq__lte=stream.sending)
        entries = list(rows[:AT_ONCE])
        if not entries:
            return None
        stream.sending, stream.lease_until = entries[-1].seq, now + LEASE
        stream.save(update_fields=["sending", "lease_until"])
        return _batch(stream, entries, now)


def call(batch: Batch, *, now: datetime) -> Outcome:
    """Outside any transaction. Whatever is not 2xx is an error; redirects are not followed."""
    if not batch.secrets:
        return Outcome("Its secret cannot be read any more: rotate it.")
    headers = {"Content-Type": "application/json", **signed_headers(batch, now=now)}
    try:
        answer = fetch(
            batch.url, method="POST", headers=headers, body=batch.body, seconds=CALL_SECONDS, limit_bytes=65_536
        )
    except NotReached as error:
        return Outcome(error.message)
    if 200 <= answer.status < 300:
        return Outcome()
    return Outcome(f"{urlsplit(batch.url).hostname} answered {answer.status}.", gone=answer.status == _GONE)


def apply(batch: Batch, outcome: Outcome, *, now: datetime) -> bool:
    """Move the cursor, or say what is wrong and when it is tried again. False where the lease was lost meanwhile."""
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(batch.organization_id):
        stream = AuditStream.objects.select_for_update().filter(pk=batch.stream_id, lease_until=batch.lease).first()
        if stream is None:
            return False
        stream.lease_until = None
        if outcome.error:
            _failed(stream, outcome, now)
        else:
            stream.cursor, stream.sending = batch.last, None
            stream.delivered_at = now
            stream.failures, stream.failing_since, stream.last_error = 0, None, ""
            stream.due_at = now
        stream.save()
        return True


def signed_headers(batch: Batch, *, now: datetime) -> dict[str, str]:
    stamp = str(int(now.timestamp()))
    content = f"{batch.id}.{stamp}.".encode() + batch.body
    signatures = " ".join(f"v1,{_signature(secret, content)}" for secret in batch.secrets)
    return {"webhook-id": batch.id, "webhook-timestamp": stamp, "webhook-signature": signatures}


def wait_after(failures: int) -> timedelta:
    """5 s, 10 s, 20 s, … and never longer than 15 minutes."""
    return min(FIRST_WAIT * (1 << min(failures - 1, 16)), LONGEST_WAIT)


def _is_due(stream: AuditStream, now: datetime) -> bool:
    leased = stream.lease_until is not None and stream.lease_until > now
    return stream.enabled and not stream.paused_reason and stream.due_at <= now and not leased


def _batch(stream: AuditStream, entries: list[AuditEvent], now: datetime) -> Batch:
    assert stream.lease_until is not None
    first, last = entries[0].seq or 0, entries[-1].seq or 0
    data: list[Json] = [exported(entry) for entry in entries]
    content = {"type": "audit.entries", "timestamp": instant(entries[-1].at), "data": {"entries": data}}
    return Batch(
        organization_id=stream.organization_id,
        stream_id=stream.pk,
        lease=stream.lease_until,
        url=stream.url,
        secrets=_secrets(stream, now),
        last=last,
        id=f"{stream.pk}-{first}-{last}",
        body=json.dumps(content, sort_keys=True, ensure_ascii=False).encode(),
    )


def _secrets(stream: AuditStream, now: datetime) -> tuple[str, ...]:
    former = stream.former_secret if stream.former_until and stream.former_until > now else ""
    try:
        return tuple(decrypted(secret) for secret in (stream.secret, former) if secret)
    except Undecipherable:
        return ()


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return base64.b64encode(hmac.digest(key, content, "sha256")).decode()


def _failed(stream: AuditStream, outcome: Outcome, now: datetime) -> None:
    stream.failures += 1
    stream.failing_since = stream.failing_since or now
    stream.last_error = outcome.error[:300]
    stream.due_at = now + wait_after(stream.failures)
    long = now - stream.failing_since >= PAUSE_AFTER
    if not outcome.gone and not long:
        return
    since = "It wants no more (410)." if outcome.gone else f"Nothing was taken for {PAUSE_AFTER.days} days."
    stream.paused_reason = f"{since} {outcome.error}"[:300]
    ref = ObjectRef("audit_stream", str(stream.pk), stream.name)
    actor = system_actor("audit stream", stream.organization_id)
    audit.record(actor, "audit_stream.paused", ref, now=now, after={"why": stream.paused_reason})


def _cursor(batch: Batch) -> int:
    first = int(batch.id.rsplit("-", 2)[1])
    return first - 1
