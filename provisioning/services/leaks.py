"""What is on clusters without a wish: kept, told or removed by rule, and on record with what it costs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.db import transaction

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.errors import Conflict, NotFound
from core.types import Actor, Json, ObjectRef, system_actor
from provisioning.drivers.base import DriverUnavailable, FindsLeftovers, Leftover, Stray
from provisioning.drivers.places import Place
from provisioning.drivers.registry import driver_at
from provisioning.enums import DISK_SKU, LeakEnd, LeakKind, VolumeState
from provisioning.models import Leak, Volume, Workload
from provisioning.selectors.specs import place_of
from tenants.enums import PlatformPermission
from tenants.permissions import authorize_platform

HANGS_AFTER: Final = timedelta(minutes=15)
YOUNG: Final = timedelta(minutes=15)
"""A disk this young may be one whose row is not committed yet."""


class Rule(StrEnum):
    KEEP = "keep"
    TELL = "tell"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Judged:
    leftover: Leftover
    rule: Rule
    why: str


def judge(leftover: Leftover, volume: str | None, wished: Collection[UUID], now: datetime) -> Judged:
    """What to do with it. `volume`: the state of its disk in the books, None where they know none. Pure.

    A disk that the books do not know is told and never removed by itself: the books may be an old copy.
    """
    if leftover.volume_id is None:
        hangs = now - leftover.since >= HANGS_AFTER and leftover.workload_id not in wished
        held = f"Its end hangs on {', '.join(leftover.finalizers)}."
        return Judged(leftover, Rule.REMOVE if hangs else Rule.KEEP, held)
    if volume is None:
        rule = Rule.TELL if now - leftover.since >= YOUNG else Rule.KEEP
        return Judged(leftover, rule, "A disk that the books do not know. It may hold somebody's files.")
    if volume == VolumeState.PURGED:
        return Judged(leftover, Rule.REMOVE, "A disk that was deleted for good.")
    return Judged(leftover, Rule.KEEP, "")


def judged(found: Collection[Leftover], wished: Collection[UUID], now: datetime) -> list[Judged]:
    """All that was found on a cluster, against the books as they are now."""
    with scope.of_platform():
        ids = [each.volume_id for each in found if each.volume_id is not None]
        states = dict(Volume.objects.filter(pk__in=ids).values_list("pk", "state"))
    return [judge(each, states.get(each.volume_id) if each.volume_id else None, wished, now) for each in found]


def note_strays(place: Place, strays: Collection[Stray], now: datetime) -> None:
    """Runs that nobody wished for and that were told to end."""
    with scope.of_platform():
        rows = Workload.objects.filter(pk__in=[stray.workload_id for stray in strays]).select_related("shape")
        shapes = {row.pk: row.shape for row in rows}
    for stray in strays:
        shape = shapes.get(stray.workload_id)
        sku, units = (shape.sku_code, shape.sku_quantity) if shape else ("", 0)
        told = Told(LeakKind.RUN, f"workload {stray.workload_id}", "Something ran that nobody wished for.", sku, units)
        note(place.cluster_id, told, since=stray.started_at, outcome=LeakEnd.REMOVED, now=now)


@dataclass(frozen=True, slots=True)
class Told:
    kind: LeakKind
    object: str
    why: str
    sku_code: str = ""
    units: int = 0
    more: Mapping[str, Json] | None = None


def told_of(one: Judged) -> Told:
    left = one.leftover
    more: dict[str, Json] = {"uid": left.uid, "finalizers": list(left.finalizers), "size_gib": left.size_gib}
    more["volume_id"] = str(left.volume_id) if left.volume_id else None
    if left.volume_id is None:
        return Told(LeakKind.STUCK, left.name, one.why, more=more)
    return Told(LeakKind.DISK, left.name, one.why, DISK_SKU, left.size_gib, more)


def note(
    cluster_id: UUID | None, told: Told, *, since: datetime | None, outcome: LeakEnd | None = None, now: datetime
) -> None:
    """Put it on record once, and its end with it where it has ended. Each is an event of the platform."""
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_platform():
        open_ = Leak.objects.select_for_update().filter(
            cluster=cluster_id, kind=told.kind, object=told.object, ended_at=None
        )
        row = open_.first()
        if row is not None and outcome is None:
            return
        row = row or Leak(cluster_id=cluster_id, kind=told.kind, object=told.object, since=since, found_at=now)
        row.why, row.sku_code, row.units, row.told = told.why[:200], told.sku_code, told.units, dict(told.more or {})
        row.ended_at, row.outcome = (now, outcome) if outcome else (None, "")
        row.save()
        verb = f"leak.{outcome}" if outcome else "leak.found"
        audit.record(system_actor("leak sweep", None), verb, ref_of(row), now=now, after=_shown(row))


def forget_what_is_gone(cluster_id: UUID, seen: Collection[tuple[str, str]], now: datetime) -> None:
    """`seen`: kind and object of all that this look has found. What was open and is not among them is gone."""
    with scope.of_platform():
        rows = Leak.objects.filter(cluster=cluster_id, ended_at=None).values_list("pk", "kind", "object")
        gone = [key for key, kind, name in rows if (kind, name) not in seen]
    for key in gone:
        with acts.begin(Source(SourceKind.SYSTEM)), scope.of_platform():
            _end(key, system_actor("leak sweep", None), LeakEnd.GONE, now)


def remove(*, actor: Actor, leak_id: UUID, now: datetime) -> None:
    """Somebody has decided: delete a disk that the books do not know. Asks the cluster, outside any transaction.

    Raises NotFound, Forbidden; Conflict where it is no such disk, or the cluster does not answer.
    """
    authorize_platform(actor, PlatformPermission.OPERATE_FLEET, ObjectRef("leak", str(leak_id)))
    with scope.of_platform():
        row = Leak.objects.select_related("cluster").filter(pk=leak_id).first()
        if row is None:
            raise NotFound("leak", leak_id)
        if row.ended_at is not None or row.kind != LeakKind.DISK or row.cluster is None:
            raise Conflict("This is no disk that is left to remove.", code="nothing_to_remove")
        place = place_of(row.cluster)
    try:
        driver = driver_at(place)
        if isinstance(driver, FindsLeftovers):
            driver.remove_leftover(_leftover_of(row))
    except DriverUnavailable as error:
        raise Conflict(str(error), code="no_answer") from error
    with scope.of_platform():
        _end(row.pk, actor, LeakEnd.REMOVED, now)


def ref_of(row: Leak) -> ObjectRef:
    return ObjectRef("leak", str(row.pk), row.object[:200])


@transaction.atomic
def _end(leak_id: UUID, actor: Actor, outcome: LeakEnd, now: datetime) -> None:
    row = Leak.objects.select_for_update().filter(pk=leak_id, ended_at=None).first()
    if row is not None:
        row.ended_at, row.outcome = now, outcome
        row.save(update_fields=["ended_at", "outcome"])
        audit.record(actor, f"leak.{outcome}", ref_of(row), now=now, after=_shown(row))


def _leftover_of(row: Leak) -> Leftover:
    return Leftover(
        name=row.object,
        uid=row.told["uid"],
        since=row.since or row.found_at,
        volume_id=UUID(row.told["volume_id"]) if row.told["volume_id"] else None,
        size_gib=row.told["size_gib"],
        finalizers=tuple(row.told["finalizers"]),
    )


def _shown(row: Leak) -> dict[str, Json]:
    cluster = row.cluster.slug if row.cluster is not None else None
    since = row.since.isoformat() if row.since else None
    return {"kind": str(row.kind), "cluster": cluster, "why": row.why, "since": since}
