"""Many running workloads in short time: one is launched and reconciled, the others are its copies, in the books by SQL
and on the cluster by the driver's own manifests. Imported when Django is set up."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from django.db import connection, models
from django.utils import timezone

from bench.fleet_scene import launch_all
from bench.processes import cpu_of, spent_since
from billing.models import UsageSession
from core.ids import uuid7
from provisioning import tasks
from provisioning.drivers.base import RunSpec, WorkloadDriver
from provisioning.drivers.kubernetes import record as records
from provisioning.drivers.kubernetes import runs, volumes
from provisioning.drivers.kubernetes.client import Api
from provisioning.drivers.kubernetes.names import record_of
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.reading import Json, part, text
from provisioning.drivers.kubernetes.record import Record
from provisioning.drivers.places import Place
from provisioning.drivers.registry import driver_at
from provisioning.models import Allocation, Condition, Volume, Workload
from provisioning.reconciler import reconcile
from provisioning.selectors.specs import place_of, spec_of
from tenants.models import QuotaHold
from tests.house import Tenant

HANDS: Final = 4
SWEEPS: Final = tuple(
    f"sweep_{what}" for what in ("runs", "workloads", "activity", "strays", "ledger", "inventory", "queues", "quotas")
)
PROBED_WITHIN: Final = "30 minutes"


@dataclass(frozen=True)
class First:
    """The one that is copied, as it is on its cluster."""

    workload: Workload
    spec: RunSpec
    place: Place
    driver: WorkloadDriver
    record: Record


def first_of(tenant: Tenant) -> First:
    """Launched and reconciled until it has run and was seen to be well."""
    launch_all(tenant, 1)
    while True:
        with tenant.scope():
            related = ("image", "volume", "cluster", "shape__accelerator", "shape__region")
            workload = Workload.objects.select_related(*related).get()
            spec, place = spec_of(workload), place_of(workload.cluster)
        if workload.mark:
            break
        reconcile(
            organization_id=workload.organization_id, workload_id=workload.pk, drivers=driver_at, clock=timezone.now
        )
    record = Record(workload.incarnation, served=True, started_at=workload.bound_at, alive_at=datetime.now(UTC))
    return First(workload, spec, place, driver_at(place), record)


def copy(first: First, count: int) -> None:
    """On the cluster first: what is in the books alone would be missed there."""
    ids = [(uuid7(), uuid7()) for _ in range(count)]
    with ThreadPoolExecutor(HANDS) as hands:
        list(hands.map(lambda pair: _put(first, *pair), ids))
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("CREATE TEMPORARY TABLE copied (n int, workload uuid, volume uuid)")
        cursor.executemany("INSERT INTO copied VALUES (%s, %s, %s)", [(n, *pair) for n, pair in enumerate(ids)])
        first_id = first.workload.pk
        own = {"id": "c.volume", "name": "'disk-' || c.n"}
        cursor.execute(_copies(Volume, "id", own), [first.workload.volume_id])
        own = {"id": "c.workload", "volume_id": "c.volume", "name": "'w-' || c.n", "label": "'c' || c.n"}
        cursor.execute(_copies(Workload, "id", own | {"request_key": "NULL"}), [first_id])
        for model, column in ((Condition, "workload_id"), (Allocation, "workload_id"), (UsageSession, "workload_id")):
            cursor.execute(_copies(model, column, {"id": "gen_random_uuid()", column: "c.workload"}), [first_id])
        own = {"id": "gen_random_uuid()", "holder_id": "c.workload"}
        cursor.execute(_copies(QuotaHold, "holder_id", own), [first_id])
        cursor.execute("SET session_replication_role = origin")
        cursor.execute("ANALYZE")


def see(first: First) -> int:
    """Everybody was looked at just now, and is asked what goes on some time in the next half hour. Returns how many
    the cluster lists."""
    marks = first.driver.marks()  # type: ignore[attr-defined]
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE provisioning_workload SET mark = %s, seen_at = now(), due_at = now() + interval '150 s',"
            f" probe_at = now() + random() * interval '{PROBED_WITHIN}' WHERE id = %s AND state = 'running'",
            [(mark, workload_id) for workload_id, mark in marks.items()],
        )
        cursor.execute("VACUUM ANALYZE")
    return len(marks)


def by_sweep(servers: Mapping[str, int]) -> dict[str, tuple[float, float]]:
    """CPU seconds of one round of each periodic task: ours, and the database's."""
    found = {}
    for name in SWEEPS:
        before, own = cpu_of(servers), time.process_time()
        getattr(tasks, name)()
        found[name] = round(time.process_time() - own, 3), round(sum(spent_since(before, servers).values()), 3)
    return found


def _put(first: First, workload_id: UUID, volume_id: UUID) -> None:
    spec = replace(first.spec, workload_id=workload_id, volume_id=volume_id)
    assert first.place.connection is not None
    api, claim = Api(first.place.connection), volumes.claim(spec, first.place)
    noted = {"annotations": {record_of(workload_id): records.dumped(first.record)}}
    for thing in (
        claim | {"metadata": part(claim, "metadata") | noted},
        runs.manifest(spec, first.place, first.record.incarnation),
    ):
        api.create(_list_of(thing), thing)


def _list_of(thing: Json) -> str:
    return path(text(thing, "kind"), text(thing, "metadata", "namespace"))


def _copies(model: type[models.Model], column: str, own: dict[str, str]) -> str:
    columns: Sequence[str] = [field.column for field in model._meta.concrete_fields]
    words = ", ".join(own.get(each, f'first."{each}"') for each in columns)
    names = ", ".join(f'"{each}"' for each in columns)
    table = model._meta.db_table
    return f'INSERT INTO "{table}" ({names}) SELECT {words} FROM copied c, "{table}" first WHERE first."{column}" = %s'
