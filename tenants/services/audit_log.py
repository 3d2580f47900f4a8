"""What people set up around the audit log: saved views, streams to a webhook, how long it is kept.

Its entries and the work on them (sealing, anchors, delivery) are core's.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from core import audit
from core.encryption import encrypted
from core.errors import Conflict, FieldError, Invalid, NotFound, Stale
from core.models import AuditRetention, AuditStream, AuditView
from core.names import checked_name
from core.outgoing import NotReached, check_url
from core.sealing import head_of
from core.types import Actor, Json, ObjectRef
from tenants.enums import Permission
from tenants.permissions import authorize
from tenants.selectors import organization_of

STREAMS_AT_MOST: Final = 5
SHORTEST_DAYS: Final = 30
LONGEST_DAYS: Final = 36_500
FORMER_SECRET_HOLDS: Final = timedelta(hours=24)
"""How long a receiver may still check by the secret before."""


def views_visible_to(actor: Actor) -> QuerySet[AuditView]:
    """One's own and the shared ones, by name."""
    rows = AuditView.objects.filter(organization_id=actor.tenant_id)
    return rows.filter(Q(owner_id=actor.person_id) | Q(shared=True)).order_by("-shared", "name", "pk")


@transaction.atomic
def save_view(*, actor: Actor, name: str, query: Mapping[str, str], shared: bool, now: datetime) -> AuditView:
    """Keep filters under a name; a name that the person used before gets them instead. Sharing needs MANAGE_AUDIT."""
    organization = organization_of(actor)
    authorize(actor, Permission.MANAGE_AUDIT if shared else Permission.VIEW_AUDIT, organization)
    name = _name(name)
    if not query:
        raise Invalid(
            [FieldError("query", "empty", "Choose at least one filter: a view without any is the log itself.")]
        )
    known = AuditView.objects.select_for_update().filter(
        organization_id=organization.pk, owner_id=actor.person_id, name=name
    )
    before = known.first()
    old = _view(before) if before else None
    view, _ = AuditView.objects.update_or_create(
        organization_id=organization.pk,
        owner_id=actor.person_id,
        name=name,
        defaults={"query": dict(query), "shared": shared},
        create_defaults={"query": dict(query), "shared": shared, "created_at": now},
    )
    audit.record(actor, "audit_view.saved", _view_ref(view), now=now, before=old, after=_view(view))
    return view


@transaction.atomic
def remove_view(*, actor: Actor, view_id: UUID, now: datetime) -> None:
    """One's own, or a shared one with MANAGE_AUDIT. Raises NotFound for any other."""
    view = views_visible_to(actor).select_for_update().filter(pk=view_id).first()
    if view is None:
        raise NotFound("audit_view", view_id)
    needed = Permission.VIEW_AUDIT if view.owner_id == actor.id else Permission.MANAGE_AUDIT
    authorize(actor, needed, organization_of(actor))
    ref, before = _view_ref(view), _view(view)
    view.delete()
    audit.record(actor, "audit_view.removed", ref, now=now, before=before)


def streams_of(actor: Actor) -> QuerySet[AuditStream]:
    """Those of the actor's organisation. Raises Forbidden for one who may not read the log."""
    authorize(actor, Permission.VIEW_AUDIT, organization_of(actor))
    return AuditStream.objects.filter(organization_id=actor.tenant_id).order_by("name")


@transaction.atomic
def create_stream(*, actor: Actor, name: str, url: str, from_start: bool, now: datetime) -> tuple[AuditStream, str]:
    """A webhook that gets what is sealed from now on, or the whole chain. Its secret is shown this once."""
    organization = organization_of(actor)
    authorize(actor, Permission.MANAGE_AUDIT, organization)
    _check_address(url)
    if AuditStream.objects.filter(organization_id=organization.pk).count() >= STREAMS_AT_MOST:
        raise Conflict(f"There are {STREAMS_AT_MOST} streams already. Remove one first.", code="too_many_streams")
    secret = new_secret()
    try:
        with transaction.atomic():
            stream = AuditStream.objects.create(
                organization_id=organization.pk,
                name=_name(name),
                url=url,
                secret=encrypted(secret),
                created_at=now,
                due_at=now,
                cursor=0 if from_start else head_of(organization.pk),
            )
    except IntegrityError:
        raise Conflict(f"There is a stream {name} already.", code="name_taken") from None
    audit.record(actor, "audit_stream.created", stream_ref(stream), now=now, after=_stream(stream))
    return stream, secret


@transaction.atomic
def change_stream(
    *,
    actor: Actor,
    stream_id: UUID,
    name: str | None = None,
    url: str | None = None,
    enabled: bool | None = None,
    expected_version: int | None = None,
    now: datetime,
) -> AuditStream:
    """Rename it, send it elsewhere, switch it off or on; on also ends a pause and tries at once."""
    stream = _locked(actor, stream_id, expected_version)
    before = _stream(stream)
    if url is not None:
        _check_address(url)
        stream.url = url
    stream.name = _name(name) if name is not None else stream.name
    stream.enabled = enabled if enabled is not None else stream.enabled
    if enabled or url is not None:
        stream.paused_reason, stream.last_error, stream.failures, stream.failing_since = "", "", 0, None
        stream.due_at = now
    stream.version += 1
    try:
        with transaction.atomic():
            stream.save()
    except IntegrityError:
        raise Conflict(f"There is a stream {name} already.", code="name_taken") from None
    audit.record(actor, "audit_stream.changed", stream_ref(stream), now=now, before=before, after=_stream(stream))
    return stream


@transaction.atomic
def rotate_secret(*, actor: Actor, stream_id: UUID, now: datetime) -> tuple[AuditStream, str]:
    """A new secret, shown this once. For a day both sign, so that no delivery is refused meanwhile."""
    stream = _locked(actor, stream_id, None)
    secret = new_secret()
    stream.former_secret, stream.former_until = stream.secret, now + FORMER_SECRET_HOLDS
    stream.secret = encrypted(secret)
    stream.version += 1
    stream.save()
    after: dict[str, Json] = {"former_until": stream.former_until.isoformat()}
    audit.record(actor, "audit_stream.secret_rotated", stream_ref(stream), now=now, after=after)
    return stream, secret


@transaction.atomic
def remove_stream(*, actor: Actor, stream_id: UUID, now: datetime) -> None:
    stream = _locked(actor, stream_id, None)
    ref, before = stream_ref(stream), _stream(stream)
    stream.delete()
    audit.record(actor, "audit_stream.removed", ref, now=now, before=before)


@transaction.atomic
def test_stream(*, actor: Actor, stream_id: UUID, now: datetime) -> None:
    """Write an entry that says so: it travels the way that every entry does, and shows in what the receiver got."""
    stream = _locked(actor, stream_id, None)
    if not stream.enabled or stream.paused_reason:
        raise Conflict("The stream is off. Switch it on first, then test it.", code="stream_off")
    stream.due_at = now
    stream.save(update_fields=["due_at"])
    audit.record(actor, "audit_stream.tested", stream_ref(stream), now=now)


def kept_days(organization_id: UUID) -> int | None:
    """How long entries are kept; None: for ever."""
    return AuditRetention.objects.filter(organization_id=organization_id).values_list("keep_days", flat=True).first()


@transaction.atomic
def keep_for(*, actor: Actor, days: int | None, now: datetime) -> None:
    """Entries older than this many days are removed from the old end of the chain, for good. None: nothing is."""
    organization = organization_of(actor)
    authorize(actor, Permission.MANAGE_AUDIT, organization)
    if days is not None and not SHORTEST_DAYS <= days <= LONGEST_DAYS:
        message = f"Keep them from {SHORTEST_DAYS} to {LONGEST_DAYS:,} days, or for ever."
        raise Invalid([FieldError("keep_days", "out_of_range", message)])
    before = kept_days(organization.pk)
    if days is None:
        AuditRetention.objects.filter(organization_id=organization.pk).delete()
    else:
        AuditRetention.objects.update_or_create(organization_id=organization.pk, defaults={"keep_days": days})
    ref = ObjectRef("audit", str(organization.pk))
    audit.record(actor, "audit.retention_set", ref, now=now, before={"keep_days": before}, after={"keep_days": days})


def stream_ref(stream: AuditStream) -> ObjectRef:
    return ObjectRef("audit_stream", str(stream.pk), stream.name)


def new_secret() -> str:
    """In the form that libraries of Standard Webhooks take."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"


def _locked(actor: Actor, stream_id: UUID, expected_version: int | None) -> AuditStream:
    organization = organization_of(actor)
    rows = AuditStream.objects.select_for_update().filter(organization_id=organization.pk, pk=stream_id)
    stream = rows.first()
    if stream is None:
        raise NotFound("audit_stream", stream_id)
    authorize(actor, Permission.MANAGE_AUDIT, organization)
    if expected_version is not None and stream.version != expected_version:
        raise Stale("The stream has changed since you read it.")
    return stream


def _check_address(url: str) -> None:
    if len(url) > 500:
        raise Invalid([FieldError("url", "too_long", "An address has at most 500 characters.")])
    try:
        check_url(url)
    except NotReached as error:
        raise Invalid([FieldError("url", error.code, error.message)]) from None


def _name(name: str) -> str:
    return " ".join(checked_name("name", name, most=80).split())


def _stream(stream: AuditStream) -> dict[str, Json]:
    return {"name": stream.name, "url": stream.url, "enabled": stream.enabled}


def _view(view: AuditView) -> dict[str, Json]:
    """Which filters, not for what: a search may be for a person's name, and entries hold none."""
    return {"filters": [*sorted(view.query)], "shared": view.shared}


def _view_ref(view: AuditView) -> ObjectRef:
    return ObjectRef("audit_view", str(view.pk), view.name)
