"""Tasks of the ground."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from core.anchors import anchor_all
from core.enums import TaskName
from core.retention import cut_all
from core.sealing import seal_all


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
