"""The monthly run: every month that is over and past its grace, one organisation after the other, each by itself.

Nothing is remembered between tries but what the database holds: a run that was killed, or started six times at once,
converges to one invoice a month.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import structlog
from django.db import DatabaseError

from billing.enums import PeriodState
from billing.models import BillingPeriod, InvoiceHold
from billing.services import invoices
from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.errors import SteelyardError
from core.models import Outcome as Outcomes
from core.types import ObjectRef, Reason, system_actor

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Due:
    organization_id: UUID
    period_id: UUID
    month: str


@dataclass(slots=True)
class Outcome:
    """Numbers issued (or found issued), and what was held back."""

    issued: list[str] = field(default_factory=list)
    held: list[Due] = field(default_factory=list)


def run(*, now: datetime) -> Outcome:
    """Issue what is due. What cannot be issued is held, with every reason, and tried again by the next run."""
    outcome = Outcome()
    for due in due_months(now):
        with acts.begin(Source(SourceKind.SYSTEM)):
            number = _try(due, now)
        if number is None:
            outcome.held.append(due)
        elif number:
            outcome.issued.append(number)
    return outcome


def _try(due: Due, now: datetime) -> str | None:
    """The number of the month's invoice, nothing for a month without one; None where it is held back."""
    actor = system_actor("invoice run", due.organization_id)
    try:
        with scope.of_organization(due.organization_id):
            made = invoices.issue(actor=actor, organization_id=due.organization_id, month=due.month, now=now)
    except Exception as error:
        log.warning("invoice_held", month=due.month, organization=str(due.organization_id), error=str(error))
        reasons = _reasons(error)
        if _hold(due, reasons, now=now):
            ref = ObjectRef("billing_period", str(due.period_id), due.month)
            audit.record_refusal(actor, "invoice.issued", ref, outcome=Outcomes.FAILED, reason=reasons[0], now=now)
        return None
    return made.number if made else ""


def due_months(now: datetime) -> list[Due]:
    """Open months past their grace, and those under way of closed organisations, oldest first."""
    with scope.of_platform():
        rows = BillingPeriod.objects.filter(state=PeriodState.OPEN, start__lte=now).select_related("organization")
        return [
            Due(row.organization_id, row.pk, row.name)
            for row in rows.order_by("start", "organization_id")
            if row.end + invoices.GRACE <= now or row.organization.closed_at is not None
        ]


def _hold(due: Due, reasons: list[Reason], *, now: datetime) -> bool:
    """Write down why, after the rollback, in a transaction of its own; unless somebody has issued it meanwhile.

    True where the reasons are new: those are audited, the same ones of the next try are not.
    """
    words = [reason.as_json() for reason in reasons]
    with scope.of_organization(due.organization_id):
        period = BillingPeriod.objects.select_for_update().get(pk=due.period_id)
        if period.state == PeriodState.CLOSED:
            return False
        known = InvoiceHold.objects.filter(period=period).first()
        if known is None:
            InvoiceHold.objects.create(
                organization_id=due.organization_id, period=period, reasons=words, since=now, tried_at=now
            )
            return True
        before, known.reasons, known.tried_at = known.reasons, words, now
        known.save(update_fields=["reasons", "tried_at"])
        return bool(before != words)


def _reasons(error: Exception) -> list[Reason]:
    """A rule's own reasons; a source that cannot be read is one of its own."""
    found = getattr(error, "reasons", ())
    if found:
        return list(found)
    if isinstance(error, SteelyardError):
        return [Reason(code=error.code, message=error.message)]
    if isinstance(error, DatabaseError):
        words = "Usage or prices could not be read. Nothing was issued; the next run tries again."
        return [Reason(code="input_missing", message=words, ask="the platform team")]
    words = "The invoice could not be computed. Nothing was issued; the next run tries again."
    return [Reason(code="not_computed", message=words, ask="the platform team")]
