"""What one look at everything on a cluster says of the workloads that run there. It changes when, never what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import F, QuerySet

from core import scope
from provisioning.enums import State
from provisioning.models import Workload
from provisioning.services.hints import look_soon

LASTS: Final = timedelta(seconds=150)
"""So long is nobody looked at by himself who looks as before: two lists may fail to come."""
_AT_ONCE: Final = 5_000


def take_in(
    cluster_id: UUID, marks: Mapping[UUID, str], *, asked_at: datetime, clock: Callable[[], datetime]
) -> tuple[int, int]:
    """Who looks as when last settled was seen at the time of the question, and is due later; all others that were
    well by then are due now, whether they look otherwise or are not there. Returns how many of each.

    What is due already stays so: somebody knows more than the list does. A mark names the very objects that it was
    made of, so that it is nobody else's and never comes again.
    """
    with scope.of_platform():
        told = list(marks.values())
        pieces = [told[first : first + _AT_ONCE] for first in range(0, len(told), _AT_ONCE)]
        same = sum(_see(_well(cluster_id), each, asked_at, clock()) for each in pieces)
        others = _well(cluster_id).filter(seen_at__lt=asked_at, due_at__gt=clock())
        changed: dict[UUID, list[UUID]] = {}
        for organization_id, workload_id in others.values_list("organization_id", "pk"):
            changed.setdefault(organization_id, []).append(workload_id)
    woken = sum(
        look_soon(organization_id=organization_id, workload_ids=workload_ids, now=clock())
        for organization_id, workload_ids in changed.items()
    )
    return same, woken


def _well(cluster_id: UUID) -> QuerySet[Workload]:
    """Those that ran and were well when somebody last looked at them, and of whom nobody has wished anything since."""
    rows = Workload.objects.filter(cluster=cluster_id, state=State.RUNNING, observed_generation=F("generation"))
    return rows.exclude(mark="")


def _see(rows: QuerySet[Workload], marks: list[str], asked_at: datetime, now: datetime) -> int:
    return rows.filter(mark__in=marks, due_at__gt=now, seen_at__lt=asked_at).update(
        seen_at=asked_at, due_at=asked_at + LASTS
    )
