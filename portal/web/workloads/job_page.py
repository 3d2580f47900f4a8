"""What the page of a job shows beside what every workload's page shows: its command and its attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from core.routes import route
from core.types import Actor
from portal.web.workloads.commands import shown
from portal.web.workloads.words import brief, outcome_words, reason_message, retries_words
from provisioning.enums import Outcome, State
from provisioning.selectors.listing import attempts_of
from provisioning.selectors.workloads import workload_for
from tenants.enums import Permission

if TYPE_CHECKING:
    from provisioning.models import Attempt, Workload

_MOST_ATTEMPTS = 100


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.attempts_listed")
@require_GET
def attempts_part(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return render(request, "portal/workloads/_attempts.html", attempts_context(workload_for(actor, workload_id)))


def attempts_context(workload: Workload) -> dict[str, object]:
    """The newest first. Nothing for what is no job."""
    job = workload.job
    if job is None:
        return {"attempts": None}
    rows = list(attempts_of(workload).order_by("-number")[:_MOST_ATTEMPTS])
    return {
        "attempts": [_attempt(workload, row) for row in rows],
        "left_out": rows[-1].number - 1 if rows else 0,
        "retries": "" if workload.state == State.SUCCEEDED else retries_words(job.retries, workload.failures),
        "attempts_url": reverse("workload-attempts", args=[workload.pk]),
    }


def job_context(workload: Workload) -> dict[str, object]:
    """What it runs; None for what is no job."""
    job = workload.job
    if job is None:
        return {"job": None}
    words, left_out = shown(job.command)
    return {
        "job": {
            "words": words,
            "left_out": left_out,
            "workers": job.workers,
            "retries": job.retries,
            "longest": brief(job.max_duration) if job.max_duration else "",
            "success_codes": ", ".join(map(str, job.success_codes)),
            "fatal_codes": ", ".join(map(str, job.fatal_codes)),
        }
    }


def attempt_asked(request: HttpRequest) -> int | None:
    """Whose log is asked for; None: the last one's."""
    word = request.GET.get("attempt", "")
    return int(word) if word.isascii() and word.isdecimal() and len(word) <= 6 else None


def log_context(workload_id: UUID, attempt: int | None) -> dict[str, object]:
    """Where the log is read, and what it is called."""
    page, read = reverse("workload", args=[workload_id]), reverse("workload-logs", args=[workload_id])
    return {
        "log_url": read if attempt is None else f"{read}?attempt={attempt}",
        "log_of": attempt,
        "newest_log_url": f"{page}#logs",
    }


def _attempt(workload: Workload, row: Attempt) -> dict[str, object]:
    tone, word = outcome_words(row.outcome)
    return {
        "number": row.number,
        "started_at": row.started_at,
        "held": (row.ended_at or timezone.now()) - row.started_at,
        "runs": row.outcome == Outcome.RUNNING,
        "tone": tone,
        "word": word,
        "exit_code": row.exit_code,
        "reason": reason_message(row.reason),
        "log_url": f"{reverse('workload', args=[workload.pk])}?attempt={row.number}#logs",
    }
