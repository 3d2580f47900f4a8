"""Tasks: parse, one call. Sent by name; unknown arguments are tolerated, so that old workers survive a deploy."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from tenants.enums import TaskName
from tenants.services import approvals


@shared_task(name=TaskName.EXPIRE_APPROVALS)
def expire_approvals(**_: object) -> None:
    approvals.expire_due(now=timezone.now())
