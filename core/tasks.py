"""Tasks of the ground."""

from __future__ import annotations

from celery import shared_task

from core.enums import TaskName
from core.sealing import seal_all


@shared_task(name=TaskName.SEAL_AUDIT)
def seal_audit(**_: object) -> None:
    """Seal what was written since the last round."""
    seal_all()
