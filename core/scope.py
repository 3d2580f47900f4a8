"""A scope is a transaction that knows its tenant.

The database enforces what is said here: row-level security reads the settings that `of_organization` makes for the
transaction alone, so that it works through a transaction-pooling PgBouncer. No scope, no rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction

from core.errors import ScopeMismatch, ScopeRequired

APP_ROLE = "steelyard_app"
PLATFORM_ROLE = "steelyard_platform"


@dataclass(frozen=True, slots=True)
class Scope:
    """What the current transaction may see: one organisation's rows, or (platform) every organisation's."""

    organization_id: UUID | None
    user_id: UUID | None = None

    @property
    def is_platform(self) -> bool:
        return self.organization_id is None

    @property
    def role(self) -> str:
        return PLATFORM_ROLE if self.is_platform else APP_ROLE


_current: ContextVar[Scope | None] = ContextVar("steelyard_scope", default=None)


def current() -> Scope | None:
    return _current.get()


def require() -> Scope:
    """The current scope; raises ScopeRequired where there is none."""
    scope = _current.get()
    if scope is None:
        raise ScopeRequired("Tenant data is reached inside core.scope.of_organization(...) only.")
    return scope


@contextmanager
def of_organization(organization_id: UUID, *, user_id: UUID | None = None) -> Iterator[Scope]:
    """Open a transaction that sees one organisation's rows.

    Inside a scope of the same organisation this is a savepoint; inside another's it raises ScopeMismatch.
    """
    with _entered(Scope(organization_id=organization_id, user_id=user_id)) as scope:
        yield scope


@contextmanager
def of_platform() -> Iterator[Scope]:
    """Open a transaction that sees every organisation's rows. Authorise and audit first."""
    with _entered(Scope(organization_id=None)) as scope:
        yield scope


@contextmanager
def _entered(scope: Scope) -> Iterator[Scope]:
    outer = _current.get()
    if outer is not None and outer.organization_id != scope.organization_id:
        raise ScopeMismatch(f"A scope of {scope.organization_id} was opened inside one of {outer.organization_id}.")
    nested = connection.in_atomic_block
    with transaction.atomic():
        if outer is None:
            _tell_database(scope)
        token = _current.set(scope if outer is None else outer)
        try:
            yield scope
        finally:
            _current.reset(token)
        if outer is None and nested and not connection.needs_rollback:
            _forget()


def _tell_database(scope: Scope) -> None:
    _set(scope.role, str(scope.organization_id or ""), str(scope.user_id or ""))


def _forget() -> None:
    """Inside a foreign transaction (a test's) the settings outlive the scope unless they are taken back."""
    _set("none", "", "")


def _set(role: str, organization: str, user: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('role', %s, true), set_config('steelyard.organization', %s, true),"
            " set_config('steelyard.user', %s, true)",
            [role, organization, user],
        )
