"""What the page of a job shows beside what every workload's page shows: its command and its attempts."""

from __future__ import annotations

from collections.abc import Mapping
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
from provisioning.selectors.listing import attempts_of, task_counts, task_facts, tasks_to_show
from provisioning.selectors.workloads import workload_for
from provisioning.types import JobSpec, LogOf
from tenants.enums import Permission

if TYPE_CHECKING:
    from provisioning.models import Attempt, Task, Workload

_MOST_ATTEMPTS = 100
_MOST_TASKS = 50


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
        "retries": _retries(workload, job),
        "attempts_url": reverse("workload-attempts", args=[workload.pk]),
    }


def _retries(workload: Workload, job: JobSpec) -> str:
    if workload.state == State.SUCCEEDED:
        return ""
    if job.array is not None:
        return f"{job.retries} retries for each task" if job.retries != 1 else "1 retry for each task"
    return retries_words(job.retries, workload.failures)


def job_context(workload: Workload) -> dict[str, object]:
    """What it runs; None for what is no job."""
    job = workload.job
    if job is None:
        return {"job": None}
    artifacts = reverse("workload-artifacts", args=[workload.pk])
    words, left_out = shown(job.command)
    return {
        "artifacts_url": artifacts,
        "job": {
            "words": words,
            "left_out": left_out,
            "workers": job.workers,
            "array": _array(job),
            "retries": job.retries,
            "longest": brief(job.max_duration) if job.max_duration else "",
            "success_codes": ", ".join(map(str, job.success_codes)),
            "fatal_codes": ", ".join(map(str, job.fatal_codes)),
        },
    }


def _array(job: JobSpec) -> dict[str, object] | None:
    if job.array is None:
        return None
    return {
        "count": job.array.count,
        "at_once": job.replicas,
        "sweep": [{"name": name, "values": ", ".join(values)} for name, values in job.array.sweep],
        "rule": "ends the others" if job.array.stops_at_failure else "the others go on",
    }


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.tasks_listed")
@require_GET
def tasks_part(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return render(request, "portal/workloads/_tasks.html", tasks_context(workload_for(actor, workload_id)))


def tasks_context(workload: Workload) -> dict[str, object]:
    """What failed first, then what runs, then the rest. None for what is no array."""
    job = workload.job
    if job is None or job.array is None:
        return {"tasks": None}
    counts = task_counts(workload)
    begun = sum(counts.values())
    rows = tasks_to_show(workload, most=_MOST_TASKS)
    done = counts.get(Outcome.SUCCEEDED, 0)
    return {
        "tasks": [_task(workload, row) for row in rows],
        "task_count": job.array.count,
        "tasks_done": done,
        "task_words": _counted(counts, waiting=job.array.count - begun),
        "tasks_left_out": begun - len(rows),
        "tasks_url": reverse("workload-tasks", args=[workload.pk]),
    }


def log_asked(request: HttpRequest) -> LogOf:
    """Whose log is asked for; nothing: the newest."""
    return LogOf(attempt=_number(request.GET.get("attempt", "")), task=_number(request.GET.get("task", "")))


def log_context(workload_id: UUID, asked: LogOf) -> dict[str, object]:
    """Where the log is read, and what it is called."""
    page, read = reverse("workload", args=[workload_id]), reverse("workload-logs", args=[workload_id])
    names = {"attempt": asked.attempt, "task": asked.task}
    word = next((f"{name} {number}" for name, number in names.items() if number is not None), "")
    return {
        "log_url": f"{read}?{word.replace(' ', '=')}" if word else read,
        "log_of": word,
        "newest_log_url": f"{page}#logs",
    }


def _number(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdecimal() and len(word) <= 6 else None


def _counted(counts: Mapping[str, int], *, waiting: int) -> str:
    """ "7 done, 2 running, 1 failed, 2 waiting" """
    shown = {**counts, Outcome.WAITING: counts.get(Outcome.WAITING, 0) + waiting}
    return ", ".join(f"{shown[each]} {outcome_words(each)[1].lower()}" for each in Outcome if shown.get(each))


def _task(workload: Workload, row: Task) -> dict[str, object]:
    tone, word = outcome_words(row.outcome)
    facts = task_facts(workload, row)
    parameters = facts["parameters"]
    assert isinstance(parameters, dict)
    return {
        "index": row.index,
        "parameters": [f"{name}={value}" for name, value in parameters.items()],
        "tone": tone,
        "word": word,
        "failures": row.failures,
        "started_at": row.started_at,
        "held": (row.ended_at or timezone.now()) - row.started_at if row.started_at else None,
        "exit_code": row.exit_code,
        "log_url": f"{reverse('workload', args=[workload.pk])}?task={row.index}#logs",
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
