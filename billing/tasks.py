"""Tasks: parse, one call. Sent by name; unknown arguments are tolerated, so that old workers survive a deploy."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from billing.enums import TaskName
from billing.services import approved, grants, payments, runs


@shared_task(name=TaskName.RUN_INVOICES)
def run_invoices(**_: object) -> None:
    """Every month that is over and past its grace."""
    runs.run(now=timezone.now())


@shared_task(name=TaskName.SWEEP_INVOICES)
def sweep_invoices(**_: object) -> None:
    """Due dates that have passed, credit that has lapsed, and what was approved while nobody listened."""
    now = timezone.now()
    payments.sweep_overdue(now=now)
    grants.lapse_due(now=now)
    approved.do_due(now=now)


@shared_task(name=TaskName.APPROVAL_SETTLED, acks_late=True)
def approval_settled(*, organization_id: str, approval_id: str, **_: object) -> None:
    approved.do(organization_id=UUID(organization_id), approval_id=UUID(approval_id), now=timezone.now())
