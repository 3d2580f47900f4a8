"""The same proof one layer below: what the database itself shows, takes in and lets change, whatever the code asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from psycopg import errors, sql

from core import scope
from core.scope import APP_ROLE, PLATFORM_ROLE
from portal.isolation.objects import tenant_tables
from portal.isolation.words import Check, Outcome, Party

QUESTIONS = ("secured", "owned", "no_context", "foreign_read", "foreign_change", "foreign_insert")
"""By table: row-level security is on and forced; the web role does not own it; without a context it is empty; inside
the stranger's context no row of another organisation shows; none of them changes or goes; none is taken in."""


@dataclass(frozen=True, slots=True)
class Row:
    """A real row of a table: its id, and all of it as JSON."""

    id: str
    content: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What PostgreSQL's catalogue says of a table."""

    owner: str
    enabled: bool
    forced: bool


def ask_tables(subject: Party, stranger: Party) -> dict[str, list[Check]]:
    """Inside a transaction that is undone; each question in a savepoint of its own."""
    facts = _facts()
    return {table: _ask(table, key, facts[table], subject, stranger) for table, key in tenant_tables()}


def ask_roles() -> list[Check]:
    """What the web role is, what it owns and what runs with somebody else's rights."""
    return [
        _none("web_role_is_weak", _STRONG, "bypasses row-level security or makes roles"),
        _none("web_role_owns_nothing", _OWNED, "is owned by the web role"),
        _none("web_role_becomes_nobody_else", _BECOMES, "can be become by the web role"),
        _none("login_is_the_web_role", _LOGIN, "is what this installation logs in as, and is no web role"),
        _none("definer_functions_are_fixed", _LOOSE, "runs with its owner's rights from no fixed place, or for all"),
        _none("keys_stay_inside", _LOOSE_KEYS, "is a key between tenants' tables without the organisation in it"),
    ]


def _ask(table: str, key: str, facts: Facts, subject: Party, stranger: Party) -> list[Check]:
    row = _one_of(table, key, subject)
    secured = facts.enabled and facts.forced
    state = f"enabled {_word(facts.enabled)}, forced {_word(facts.forced)}"
    return [
        Check("secured", Outcome.HELD if secured else Outcome.FAILED, state),
        Check("owned", Outcome.FAILED if facts.owner in (APP_ROLE, PLATFORM_ROLE) else Outcome.HELD, facts.owner),
        _without_context(table),
        _foreign_read(table, key, stranger, there=row is not None),
        *(_foreign_writes(table, row, stranger) if row is not None else _unasked("foreign_change", "foreign_insert")),
    ]


def _without_context(table: str) -> Check:
    if not _any_row(table):
        return Check("no_context", Outcome.NOT_ASKED, "no_object")
    with _web_role(None):
        shown = _exists(sql.SQL("SELECT 1 FROM {}").format(sql.Identifier(table)))
    return Check("no_context", Outcome.FAILED if shown else Outcome.HELD, "rows" if shown else "0 rows")


def _foreign_read(table: str, key: str, stranger: Party, *, there: bool) -> Check:
    if not there:
        return Check("foreign_read", Outcome.NOT_ASKED, "no_object")
    query = sql.SQL("SELECT 1 FROM {} WHERE {} <> %s").format(sql.Identifier(table), sql.Identifier(key))
    with _web_role(stranger):
        shown = _exists(query, [stranger.id])
    return Check("foreign_read", Outcome.FAILED if shown else Outcome.HELD, "rows" if shown else "0 rows")


def _foreign_writes(table: str, row: Row, stranger: Party) -> list[Check]:
    name = sql.Identifier(table)
    change = sql.SQL("UPDATE {} SET id = id WHERE id::text = %s").format(name)
    remove = sql.SQL("DELETE FROM {} WHERE id::text = %s").format(name)
    insert = sql.SQL("INSERT INTO {0} SELECT * FROM jsonb_populate_record(NULL::{0}, %s::jsonb)").format(name)
    with _web_role(stranger):
        changed, removed = _touched(change, row.id), _touched(remove, row.id)
        taken = _touched(insert, row.content)
    left_alone = changed in _NOTHING and removed in _NOTHING
    refused = taken == "refused"
    return [
        Check("foreign_change", Outcome.HELD if left_alone else Outcome.FAILED, f"{changed}, {removed}"),
        Check("foreign_insert", Outcome.HELD if refused else Outcome.FAILED, taken),
    ]


_NOTHING = ("0 rows", "refused")


def _touched(query: sql.Composed, value: str) -> str:
    """How many rows a statement touched, or that it was refused. Another error means that it got too far."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(query, [value])
            touched = cursor.rowcount
            transaction.set_rollback(True)
    except DatabaseError as error:
        refused = isinstance(error.__cause__, errors.InsufficientPrivilege)
        return "refused" if refused else f"error {getattr(error.__cause__, 'sqlstate', '')}"
    return "0 rows" if touched == 0 else f"{touched} rows"


def _unasked(*names: str) -> list[Check]:
    return [Check(name, Outcome.NOT_ASKED, "no_object") for name in names]


@contextmanager
def _web_role(party: Party | None) -> Iterator[None]:
    """As web requests are: the role, and an organisation's context or none."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_ENTER, [str(party.id) if party else ""])
        yield
        transaction.set_rollback(True)


_ENTER = (
    f"SELECT set_config('role', '{APP_ROLE}', true), set_config('steelyard.organization', %s, true),"
    " set_config('steelyard.user', '', true)"
)


def _exists(query: sql.Composed, values: list[UUID] | None = None) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SELECT EXISTS ({})").format(query), values)
        row = cursor.fetchone()
    return bool(row and row[0])


def _any_row(table: str) -> bool:
    with scope.of_platform():
        return _exists(sql.SQL("SELECT 1 FROM {}").format(sql.Identifier(table)))


def _one_of(table: str, key: str, party: Party) -> Row | None:
    query = sql.SQL("SELECT id::text, to_jsonb(t)::text FROM {} t WHERE {} = %s ORDER BY id DESC LIMIT 1")
    with scope.of_platform(), connection.cursor() as cursor:
        cursor.execute(query.format(sql.Identifier(table), sql.Identifier(key)), [party.id])
        row = cursor.fetchone()
    return Row(*row) if row else None


def _facts() -> dict[str, Facts]:
    with connection.cursor() as cursor:
        cursor.execute(_FACTS)
        return {name: Facts(owner, enabled, forced) for name, owner, enabled, forced in cursor.fetchall()}


def _none(name: str, query: str, words: str) -> Check:
    """Held where the query, which asks for what ought not to be, finds nothing."""
    with connection.cursor() as cursor:
        cursor.execute(query, {"app": APP_ROLE, "platform": PLATFORM_ROLE})
        found = [str(row[0]) for row in cursor.fetchall()]
    if not found:
        return Check(name, Outcome.HELD, "none")
    return Check(name, Outcome.FAILED, f"{', '.join(found[:5])} {words}")


def _word(yes: bool) -> str:
    return "yes" if yes else "no"


_FACTS = """
    SELECT c.relname, r.rolname, c.relrowsecurity, c.relforcerowsecurity
    FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner
    WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
"""
_STRONG = """
    SELECT rolname FROM pg_roles
    WHERE rolname IN (%(app)s, %(platform)s) AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb)
"""
_OWNED = """
    SELECT c.relname FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname IN (%(app)s, %(platform)s)
    UNION ALL
    SELECT p.proname FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner WHERE r.rolname IN (%(app)s, %(platform)s)
    UNION ALL
    SELECT n.nspname FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner
    WHERE r.rolname IN (%(app)s, %(platform)s)
"""
_BECOMES = """
    SELECT rolname FROM pg_roles
    WHERE rolname NOT IN (%(app)s, %(platform)s) AND NOT %(app)s = %(platform)s
    AND pg_has_role(%(app)s, oid, 'MEMBER')
"""
_LOGIN = "SELECT session_user::text WHERE session_user <> %(app)s AND %(platform)s <> ''"
_LOOSE = """
    SELECT proname FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace
    AND %(app)s <> %(platform)s
    AND (NOT coalesce(array_to_string(proconfig, ',') LIKE 'search_path=public, pg_temp', false)
         OR has_function_privilege('public', oid, 'EXECUTE'))
"""
_LOOSE_KEYS = """
    SELECT f.conrelid::regclass::text || '.' || a.attname
    FROM pg_constraint f
    JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = f.conkey[1]
    JOIN pg_attribute mine ON mine.attrelid = f.conrelid AND mine.attname = 'organization_id'
    JOIN pg_attribute theirs ON theirs.attrelid = f.confrelid AND theirs.attname = 'organization_id'
    WHERE f.contype = 'f' AND cardinality(f.conkey) = 1 AND a.attname <> 'organization_id'
    AND %(app)s <> %(platform)s
    AND NOT EXISTS (
        SELECT FROM pg_constraint t WHERE t.contype = 'f' AND t.conrelid = f.conrelid AND t.confrelid = f.confrelid
        AND t.conkey @> ARRAY[a.attnum, mine.attnum]
    )
"""
