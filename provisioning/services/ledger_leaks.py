"""Bills without a thing: open sessions of what does not run, and of disks that are gone. They end where it ended."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from billing.enums import Component
from billing.selectors.held import Held, held_now
from billing.services import usage
from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.types import ObjectRef, system_actor
from provisioning.enums import LeakEnd, LeakKind, State, VolumeState
from provisioning.models import Workload
from provisioning.services import leaks
from provisioning.services.transitions import locked

_AT_ONCE: Final = 500


def sweep(*, now: datetime) -> int:
    """Look from afar, look again under the workload's lock, then close. Returns how many bills were ended."""
    with scope.of_platform():
        open_ = list(held_now())
        rows = Workload.objects.filter(pk__in={each.workload_id for each in open_}).select_related("volume")
        known = {row.pk: row for row in rows}
        suspects = [each for each in open_ if not is_held(each.component, known.get(each.workload_id))]
    return sum(_close(each, now) for each in suspects[:_AT_ONCE])


def is_held(component: str, workload: Workload | None) -> bool:
    """Whether the books of provisioning say so too. Needs the volume loaded."""
    if workload is None:
        return False
    if component == Component.DISK:
        return workload.state != State.DELETED and workload.volume.state == VolumeState.PRESENT
    return workload.bound_at is not None


def _close(held: Held, now: datetime) -> bool:
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(held.organization_id):
        workload = locked(held.workload_id)
        if is_held(held.component, workload):
            return False
        at = min(_ended(held, workload) or now, now)
        closed = usage.close_sessions(
            organization_id=held.organization_id,
            workload_id=held.workload_id,
            at=at,
            components=[held.component],
        )
        if not closed:
            return False
        ref = workload.ref if workload else ObjectRef("workload", str(held.workload_id))
        actor = system_actor("leak sweep", held.organization_id)
        audit.record(
            actor, "usage.leak_closed", ref, now=now, after={"component": held.component, "at": at.isoformat()}
        )
    why = "It was billed, and nothing of it was there."
    told = leaks.Told(LeakKind.BILL, f"session {held.id}", why, held.sku_code, held.units)
    leaks.note(None, told, since=at, outcome=LeakEnd.CLOSED, now=now)
    return True


def _ended(held: Held, workload: Workload | None) -> datetime | None:
    """The last instant at which it was certainly there."""
    if workload is None:
        return held.since
    if held.component == Component.DISK:
        return workload.volume.deleted_at or workload.state_since
    return workload.ended_at or workload.seen_at
