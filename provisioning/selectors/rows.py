"""Rows of lists, as plain values: one query for a page of them, whatever the page shows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypedDict, cast
from uuid import UUID

from django.db.models import QuerySet

from core.types import Actor, Json
from provisioning.durations import duration
from provisioning.enums import Source, State
from provisioning.models import Workload
from provisioning.reclaim import forecast
from provisioning.selectors.workloads import workloads_visible_to
from provisioning.types import Life, StopForecast, StopRules


class WorkloadRow(TypedDict):
    """What a list shows of a workload, with the words that its relations had when it was read."""

    id: UUID
    project_id: UUID
    project__slug: str
    owner_id: UUID
    owner__email: str
    owner__full_name: str
    kind: str
    name: str
    shape__slug: str
    shape__label: str
    shape__sku_code: str
    shape__sku_quantity: int
    image__slug: str
    volume_id: UUID
    volume__size_gib: int
    volume__state: str
    state: str
    state_since: datetime
    desired_state: str
    reason: dict[str, Json] | None
    created_at: datetime
    running_at: datetime | None
    bound_at: datetime | None
    last_activity_at: datetime | None
    last_activity_source: str
    idle_after: timedelta | None
    max_lifetime: timedelta | None
    stop_extended_until: datetime | None
    version: int


COLUMNS = tuple(WorkloadRow.__annotations__)


def workload_rows(actor: Actor) -> QuerySet[Workload, WorkloadRow]:
    """Every workload that the actor may see, newest first, as values. Filter and slice it before it is read."""
    return cast("QuerySet[Workload, WorkloadRow]", workloads_visible_to(actor).values(*COLUMNS))


def forecast_of_row(row: WorkloadRow) -> StopForecast | None:
    """When a running workload stops by itself; None while it does not run."""
    if row["state"] != State.RUNNING or row["bound_at"] is None:
        return None
    life = Life(
        started_at=row["bound_at"],
        last_activity_at=row["last_activity_at"] or row["bound_at"],
        last_source=Source(row["last_activity_source"]),
        extended_until=row["stop_extended_until"],
    )
    rules = StopRules(
        idle_after=row["idle_after"] or duration("IDLE_STOP_AFTER"),
        max_lifetime=row["max_lifetime"] or duration("MAXIMUM_LIFETIME"),
        warn_before=duration("WARN_BEFORE_STOP"),
    )
    return forecast(life, rules)
