"""What a boundary knows of an act that did not come about, kept on the request until its rollback is over."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest

from core.errors import Conflict, Forbidden, Invalid, NotFound, Refused, Stale, SteelyardError
from core.models import Outcome
from core.types import ObjectRef, Reason


@dataclass(frozen=True, slots=True)
class Refusal:
    ref: ObjectRef
    outcome: Outcome
    reason: Reason


def note(request: HttpRequest, error: SteelyardError) -> None:
    """Remember an error for the audit chain. Malformed and stale requests are counted elsewhere, not chained."""
    refusal = refusal_of(error)
    if refusal is not None:
        request.refusal = refusal  # type: ignore[attr-defined]


def noted(request: HttpRequest) -> Refusal | None:
    return getattr(request, "refusal", None)


def refusal_of(error: SteelyardError) -> Refusal | None:
    if isinstance(error, Invalid | Stale):
        return None
    ref = getattr(error, "ref", None) or ObjectRef(kind="request", id="")
    reason = error.reasons[0] if isinstance(error, Refused) else Reason(code=error.code, message=error.message)
    if isinstance(error, NotFound | Forbidden | Refused):
        return Refusal(ref, Outcome.DENIED, reason)
    if isinstance(error, Conflict):
        return Refusal(ref, Outcome.FAILED, reason)
    return None
