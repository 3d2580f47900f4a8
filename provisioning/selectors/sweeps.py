"""What sweeps look for across organisations, before a tenant is known: ids only, through definer functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from provisioning.drivers.places import Place


@dataclass(frozen=True, slots=True)
class Found:
    """A row of some organisation."""

    organization_id: UUID
    id: UUID


def due_workloads(now: datetime, *, most: int) -> list[Found]:
    """Workloads whose time has come or whose wish is newer than what was done about it, and that nobody works on."""
    return _found("SELECT * FROM steelyard_due_workloads(%s, %s)", [now, most])


def workloads_to_probe(now: datetime, *, most: int) -> list[Found]:
    """What runs and by now may be due for a warning or a stop, or was not asked for long."""
    return _found("SELECT * FROM steelyard_workloads_to_probe(%s, %s)", [now, most])


def placed_workloads(place: Place) -> list[Found]:
    """Workloads of which the driver there may have something."""
    if place.cluster_id is not None:
        return _found("SELECT * FROM steelyard_placed_on(%s)", [place.cluster_id])
    return _found("SELECT * FROM steelyard_placed_workloads(%s)", [place.driver])


def volumes_to_purge(now: datetime, *, most: int) -> list[Found]:
    return _found("SELECT * FROM steelyard_volumes_to_purge(%s, %s)", [now, most])


def entry_code(code_hash: bytes) -> Found | None:
    return next(iter(_found("SELECT * FROM steelyard_entry_code_by_hash(%s)", [code_hash])), None)


def workspace_entry(cookie_hash: bytes) -> Found | None:
    return next(iter(_found("SELECT * FROM steelyard_workspace_entry_by_hash(%s)", [cookie_hash])), None)


def _found(question: str, values: Sequence[datetime | int | str | bytes | UUID]) -> list[Found]:
    with connection.cursor() as cursor:
        cursor.execute(question, values)
        return [Found(organization_id=row[0], id=row[1]) for row in cursor.fetchall()]
