"""Hints from clusters: somebody looks before the time. They change when, never what."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction

from core import scope
from core.queue import enqueue_on_commit
from provisioning.drivers.base import Hint
from provisioning.enums import MAY_RUN, TaskName
from provisioning.models import Workload

WOKEN_AT_ONCE: Final = 100
"""The others are due as well: the next sweep takes them."""


def look_at_nodes(cluster_id: UUID) -> None:
    with transaction.atomic():
        enqueue_on_commit(TaskName.LIST_NODES, cluster_id=cluster_id)


def look_at_runs(told: Collection[Hint], clock: Callable[[], datetime]) -> None:
    """Each organisation in a scope of its own: a hint that names what is not there wakes nobody."""
    by_organization: dict[UUID, set[UUID]] = {}
    for hint in told:
        if hint.organization_id is not None and hint.workload_id is not None:
            by_organization.setdefault(hint.organization_id, set()).add(hint.workload_id)
    for organization_id, workload_ids in by_organization.items():
        look_soon(organization_id=organization_id, workload_ids=workload_ids, now=clock())


def look_soon(*, organization_id: UUID, workload_ids: Collection[UUID], now: datetime) -> int:
    """What may run and would be looked at later is due now; returns how many were. What is due already stays so."""
    with scope.of_organization(organization_id):
        later = Workload.objects.filter(pk__in=workload_ids, state__in=MAY_RUN, due_at__gt=now)
        found = list(later.values_list("pk", flat=True))
        moved = Workload.objects.filter(pk__in=found, due_at__gt=now).update(due_at=now)
        for workload_id in found[:WOKEN_AT_ONCE]:
            enqueue_on_commit(TaskName.RECONCILE_WORKLOAD, organization_id=organization_id, workload_id=workload_id)
    return moved
