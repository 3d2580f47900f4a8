"""Tasks of the ground."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from core.anchors import anchor_all
from core.enums import TaskName
from core.queue import enqueue_on_commit
from core.retention import cut_all
from core.sealing import seal_all
from core.streams import deliver, due_streams


@shared_task(name=TaskName.SEAL_AUDIT)
def seal_audit(**_: object) -> None:
    """Seal what was written since the last round."""
    seal_all()


@shared_task(name=TaskName.ANCHOR_AUDIT)
def anchor_audit(**_: object) -> None:
    """Once a day, whenever the day's first round comes: repeated, it writes nothing."""
    anchor_all(now=timezone.now())


@shared_task(name=TaskName.CUT_AUDIT)
def cut_audit(**_: object) -> None:
    """Remove what organisations no longer keep."""
    cut_all(now=timezone.now())


@shared_task(name=TaskName.STREAM_AUDIT)
def stream_audit(**_: object) -> None:
    """Wake a delivery for each stream that something waits for."""
    for organization_id, stream_id in due_streams(now=timezone.now()):
        enqueue_on_commit(TaskName.DELIVER_AUDIT, organization_id=organization_id, stream_id=stream_id)


@shared_task(name=TaskName.DELIVER_AUDIT)
def deliver_audit(*, organization_id: str, stream_id: str, **_: object) -> None:
    deliver(organization_id=UUID(organization_id), stream_id=UUID(stream_id), clock=timezone.now)
