"""Domain errors. Services raise them; one module of the portal turns them into answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.types import ObjectRef, Reason


class SteelyardError(Exception):
    """Whatever a person can be told: a machine-readable code and one sentence that says what to do."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code


class NotFound(SteelyardError):
    """There is no such object, or none that this actor may know of."""

    code = "not_found"

    def __init__(self, kind: str, asked: object) -> None:
        super().__init__(f"There is no {kind} {asked}.")
        self.ref = ObjectRef(kind=kind, id=str(asked))


class Forbidden(SteelyardError):
    """The object is the actor's to see, the act is not the actor's to do."""

    code = "permission_denied"

    def __init__(self, permission: str, ref: ObjectRef, *, ask: str = "an owner of the organisation") -> None:
        super().__init__(f"This needs the permission {permission} on {ref.kind} {ref.label or ref.id}. Ask {ask}.")
        self.permission = permission
        self.ref = ref


class Refused(SteelyardError):
    """A rule says no. `reasons` holds every reason, with its numbers."""

    code = "refused"

    def __init__(self, reasons: Sequence[Reason], *, ref: ObjectRef | None = None, code: str | None = None) -> None:
        super().__init__(" ".join(reason.message for reason in reasons), code=code)
        self.reasons = tuple(reasons)
        self.ref = ref


@dataclass(frozen=True, slots=True)
class FieldError:
    field: str
    code: str
    message: str


class Invalid(SteelyardError):
    """The request says something that cannot be meant. `errors` names each field."""

    code = "invalid"

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__(" ".join(error.message for error in errors))
        self.errors = tuple(errors)


class Conflict(SteelyardError):
    """The act does not fit the state that the object is in, or clashes with another object."""

    code = "conflict"


class Stale(SteelyardError):
    """The object has changed since the version that the caller read."""

    code = "stale"


class Busy(SteelyardError):
    """The same request is still being worked on; ask again after `retry_after_seconds`."""

    code = "still_running"

    def __init__(self, message: str, *, retry_after_seconds: int = 1) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class ScopeRequired(RuntimeError):
    """Tenant data was touched outside a scope: a mistake in the code, never a person's."""


class ScopeMismatch(RuntimeError):
    """A scope of one organisation was opened inside another's."""
