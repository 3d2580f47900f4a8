"""Every mutating act leaves exactly one event: done acts in their own transaction, refused ones after the rollback."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from core import acts, scope
from core.errors import NotFound
from core.masking import clean, masked
from core.models import AuditEvent, Outcome
from core.types import PLATFORM_ORGANIZATION_ID, Actor, Json, ObjectRef, Reason


def record(
    actor: Actor,
    verb: str,
    ref: ObjectRef,
    *,
    now: datetime,
    before: Mapping[str, Json] | None = None,
    after: Mapping[str, Json] | None = None,
    organization_id: UUID | None = None,
) -> None:
    """Write the event of an act that is done, in the act's own transaction. A second call in one act is an error.

    `before` and `after` pass through `core.masking`: secrets and addresses of people are never kept. An act of the
    platform that concerns organisations is told to each as well: `organization_id` names one, in the platform's scope.
    """
    current = scope.require()
    event = _event(actor, verb, ref, now=now, outcome=Outcome.DONE)
    event.organization_id = organization_id or current.organization_id or PLATFORM_ORGANIZATION_ID
    event.before = masked(before) if before is not None else None
    event.after = masked(after) if after is not None else None
    _insert(event)


def record_refusal(actor: Actor, verb: str, ref: ObjectRef, *, outcome: Outcome, reason: Reason, now: datetime) -> None:
    """Write the event of an act that was denied or failed, after its rollback, in a transaction of its own.

    It goes to the chain of the *actor's* organisation, with the id that was asked for.
    """
    event = _event(actor, verb, ref, now=now, outcome=outcome)
    event.organization_id = actor.organization_id or PLATFORM_ORGANIZATION_ID
    event.reason = {name: _plain(value) for name, value in masked(reason.as_json()).items()}
    with scope.of_organization(event.organization_id), transaction.atomic():
        AuditEvent.objects.bulk_create([event], ignore_conflicts=True)


def ref_of_missing(error: NotFound) -> ObjectRef:
    return error.ref


def _event(actor: Actor, verb: str, ref: ObjectRef, *, now: datetime, outcome: Outcome) -> AuditEvent:
    act = acts.current()
    return AuditEvent(
        act_id=act.id,
        at=now,
        actor_kind=actor.kind,
        actor_id=actor.operator_id or actor.id,
        actor_part=actor.label if actor.is_system else "",
        on_behalf_of=actor.id if actor.operator_id else None,
        token_id=actor.token_id,
        verb=verb,
        object_kind=ref.kind,
        object_id=_storable(ref.id),
        object_label=_storable(ref.label),
        outcome=outcome,
        source_kind=act.source.kind,
        source_address=act.source.address[:64],
        request_id=act.source.request_id[:64],
    )


def _storable(text: str) -> str:
    """What was asked for, as far as the table can hold it: a denial is never lost for the words in it."""
    return clean(str(_plain(text))[:1000])[:200]


def _plain(value: Json) -> Json:
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


def _insert(event: AuditEvent) -> None:
    """Write the row and, by the same statement, let audited writes pass: triggers on audited tables refuse, at commit,
    whatever was written without an event. One round trip, since every act takes it."""
    values = [
        field.get_db_prep_save(getattr(event, field.attname), connection) for field in AuditEvent._meta.concrete_fields
    ]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, [*values, str(event.act_id)])


_COLUMNS = ", ".join(f'"{field.column}"' for field in AuditEvent._meta.concrete_fields)
_PLACES = ", ".join(["%s"] * len(AuditEvent._meta.concrete_fields))
_INSERT = (
    f'INSERT INTO "{AuditEvent._meta.db_table}" ({_COLUMNS}) VALUES ({_PLACES})'  # noqa: S608 (names of our own)
    " RETURNING set_config('steelyard.act', %s, true)"
)
