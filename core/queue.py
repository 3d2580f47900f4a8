"""Hints to workers. A hint that is lost costs time, never truth: the periodic sweeps are the guarantee."""

from __future__ import annotations

from functools import partial
from uuid import UUID

import structlog
from celery import current_app
from django.db import transaction

log = structlog.get_logger(__name__)


def enqueue_on_commit(name: str, *, countdown: float | None = None, **arguments: UUID | str | int | None) -> None:
    """Send a task by name once the transaction is committed. Ids travel as text; a broker that is away is ignored."""
    words = {key: str(value) if isinstance(value, UUID) else value for key, value in arguments.items()}
    transaction.on_commit(partial(_send, str(name), words, countdown), robust=True)


def _send(name: str, arguments: dict[str, str | int | None], countdown: float | None) -> None:
    try:
        current_app.send_task(name, kwargs=arguments, countdown=countdown, retry=False, ignore_result=True)
    except Exception as error:  # the broker may fail in any way; the wish is already stored
        log.warning("hint_not_sent", task=name, error=str(error))
