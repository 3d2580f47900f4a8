"""What runs where across organisations, for the platform's scope."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Q, Sum

from provisioning.enums import MAY_RUN, State
from provisioning.models import Workload


@dataclass(frozen=True, slots=True)
class Running:
    """How much of one organisation or project runs now, and how much waits; accelerators of what runs."""

    workloads: int = 0
    waiting: int = 0
    accelerators: int = 0


def running_by_organization(organization_ids: Collection[UUID]) -> dict[UUID, Running]:
    """One query for a whole page of organisations."""
    return _running("organization_id", organization_ids)


def running_by_project(project_ids: Collection[UUID]) -> dict[UUID, Running]:
    return _running("project_id", project_ids)


def _running(column: str, ids: Collection[UUID]) -> dict[UUID, Running]:
    live = Q(state__in=MAY_RUN)
    rows = (
        Workload.objects.filter(Q(state__in=(State.REQUESTED, State.QUEUED)) | live, **{f"{column}__in": [*ids]})
        .values(column)
        .annotate(
            running=Count("pk", filter=live),
            waiting=Count("pk", filter=~live),
            accelerators=Sum("shape__accelerator_count", filter=live, default=0),
        )
    )
    found = {row[column]: Running(row["running"], row["waiting"], row["accelerators"]) for row in rows}
    return {one: found.get(one, Running()) for one in ids}
