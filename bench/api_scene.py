"""An organisation with as many workloads as one likes, written by SQL from one that was really launched."""

from __future__ import annotations

from django.db import connection
from django.db.models import Model

from provisioning.models import Volume, Workload
from tests import house
from tests.house import Tenant
from tests.provisioning import stage

_KEY = """(lpad(to_hex((extract(epoch FROM timestamptz '2026-06-01') * 1000)::bigint + n * 1000), 12, '0') || '7'
    || substr(md5('{word}' || n), 1, 3) || '8' || substr(md5('{word}' || n), 4, 15))::uuid"""


def people() -> tuple[Tenant, dict[str, str]]:
    """Aurora with a first workload, and a token of each: its owner, and a developer who holds project roles alone."""
    stage.open_shop()
    tenant = house.found("aurora", projects=("vision", "language"))
    house.join(tenant, "olivia", "owner")
    house.join(tenant, "alice", "developer", projects=("vision", "language"))
    stage.launch(tenant)
    return tenant, {name: house.token_for(tenant, name) for name in ("olivia", "alice")}


def grow(start: int, end: int) -> None:
    """Copies of the first workload, numbered from `start` to `end`: nine of ten are deleted, as in an old house."""
    volume = _copies(Volume, {"id": _KEY.format(word="v"), "name": "'disk-' || n"}, start, end)
    workload = _copies(
        Workload,
        {
            "id": _KEY.format(word="w"),
            "volume_id": _KEY.format(word="v"),
            "name": "'w-' || n",
            "label": "'b' || n",
            "state": "CASE WHEN n % 10 = 0 THEN 'stopped' ELSE 'deleted' END",
            "desired_state": "CASE WHEN n % 10 = 0 THEN 'stopped' ELSE 'deleted' END",
            "observed_generation": "first.generation",
            "due_at": "NULL",
            "request_key": "NULL",
        },
        start,
        end,
    )
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(volume)
        cursor.execute(workload)
        cursor.execute("SET session_replication_role = origin")
        cursor.execute("ANALYZE")


def _copies(model: type[Model], changed: dict[str, str], start: int, end: int) -> str:
    columns = [field.column for field in model._meta.concrete_fields]
    words = ", ".join(changed.get(column, f'first."{column}"') for column in columns)
    names = ", ".join(f'"{column}"' for column in columns)
    table = model._meta.db_table
    return f"""INSERT INTO "{table}" ({names}) SELECT {words}
        FROM (SELECT * FROM "{table}" ORDER BY id DESC LIMIT 1) AS first, generate_series({start}, {end}) AS n"""
