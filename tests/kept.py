"""Organisations of the tests, made once by the services that production uses and laid back as rows for each test."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.contrib.auth.models import Permission
from django.db import connection, transaction

from tests.house import Tenant

_TABLES: Final = (
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname"
)
_COLUMNS: Final = (
    "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute"
    " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''"
)


@dataclass(frozen=True)
class Kept:
    """One organisation as its services left it, and the statements that write its rows again.

    `numbers`: the permissions that its rows point at; a test that empties the database numbers them anew.
    """

    tenant: Tenant
    writes: tuple[tuple[str, str], ...]
    numbers: tuple[int, ...]

    @property
    def holds(self) -> bool:
        return self.numbers == _numbers()

    def lay(self) -> Tenant:
        """In the transaction under way, as its last act left it. No trigger runs: they ran when it was made."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            for statement, rows in self.writes:
                cursor.execute(statement, [rows])
            cursor.execute("SET LOCAL session_replication_role = origin")
            cursor.execute("SELECT set_config('steelyard.act', %s, true)", [str(self.tenant.organization.pk)])
        return copy.deepcopy(self.tenant)


def keep(build: Callable[[], Tenant]) -> Kept:
    """What it adds to the database, which afterwards is as it was."""
    with transaction.atomic():
        before = _rows()
        tenant = build()
        after = _rows()
        transaction.set_rollback(True)
    changed = [table for table, rows in before.items() if rows - after.get(table, set())]
    assert not changed, f"It changed rows that were there: {', '.join(changed)}. It cannot be laid again."
    added = {table: sorted(rows - before.get(table, set())) for table, rows in after.items()}
    return Kept(tenant, tuple(_write(table, rows) for table, rows in added.items() if rows), _numbers())


def _numbers() -> tuple[int, ...]:
    return tuple(Permission.objects.order_by("pk").values_list("pk", flat=True))


def _rows() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_TABLES)
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT to_jsonb(t)::text FROM "{table}" t')
            rows = {row for (row,) in cursor.fetchall()}
            if rows:
                found[table] = rows
    return found


def _write(table: str, rows: list[str]) -> tuple[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS, [f'"{table}"'])
        (columns,) = cursor.fetchone()
    whole = json.dumps([json.loads(row) for row in rows])
    source = f'jsonb_populate_recordset(NULL::"{table}", %s::jsonb)'
    return f'INSERT INTO "{table}" ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM {source}', whole
