"""The tasks of an array: one row for each that has begun, with its end and its last lines."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from provisioning.drivers.base import Observation, Phase, TaskSeen
from provisioning.enums import Outcome
from provisioning.jobs import COMES_BACK
from provisioning.models import Task, Workload
from provisioning.services.attempts import bounded

_OUTCOMES: Final = {
    Phase.STARTING: Outcome.WAITING,
    Phase.RUNNING: Outcome.RUNNING,
    Phase.SUCCEEDED: Outcome.SUCCEEDED,
    Phase.FAILED: Outcome.FAILED,
}
_GOES_ON: Final = (Outcome.WAITING, Outcome.RUNNING)
_GONE: Final = (Phase.STOPPED, Phase.SUCCEEDED, Phase.FAILED, Phase.ABSENT)
_FIELDS: Final = ("incarnation", "outcome", "failures", "exit_code", "started_at", "ended_at", "log")


def note(workload: Workload, seen: Observation, *, now: datetime) -> None:
    """What was seen of an array's run; only what has changed is written. The row is locked by the caller."""
    job = workload.job
    if job is None or job.array is None or seen.incarnation is None:
        return
    known = {row.index: row for row in Task.objects.filter(workload=workload).defer("log")}
    made: list[Task] = []
    for task in seen.tasks:
        row = known.get(task.index)
        if row is None:
            row = known[task.index] = Task(
                organization_id=workload.organization_id, workload=workload, index=task.index
            )
            _fill(row, task, seen)
            made.append(row)
        elif _is_news(row, task, seen):
            _fill(row, task, seen)
            row.save(update_fields=_FIELDS)
    Task.objects.bulk_create(made)
    if seen.phase in _GONE:
        _end_the_rest(workload, seen, now)


def _is_news(row: Task, task: TaskSeen, seen: Observation) -> bool:
    if row.outcome == Outcome.SUCCEEDED or (row.incarnation == seen.incarnation and row.outcome not in _GOES_ON):
        return False
    was = (row.incarnation, row.outcome, row.failures, row.started_at)
    return was != (seen.incarnation, _outcome(task, seen), task.failures, task.started_at)


def _fill(row: Task, task: TaskSeen, seen: Observation) -> None:
    row.incarnation = seen.incarnation or ""
    row.outcome = _outcome(task, seen)
    row.failures, row.exit_code = task.failures, task.exit_code
    row.started_at, row.ended_at = task.started_at, task.ended_at
    row.log = bounded(task.log)


def _outcome(task: TaskSeen, seen: Observation) -> Outcome:
    return _OUTCOMES.get(task.phase) or _cut_off(seen)


def _end_the_rest(workload: Workload, seen: Observation, now: datetime) -> None:
    """What ran when the run ended has ended with it."""
    left = Task.objects.filter(workload=workload, outcome__in=_GOES_ON)
    left.update(outcome=_cut_off(seen), ended_at=seen.ended_at or now)


def _cut_off(seen: Observation) -> Outcome:
    interrupted = seen.reason is not None and seen.reason.code in COMES_BACK
    return Outcome.INTERRUPTED if interrupted else Outcome.STOPPED
