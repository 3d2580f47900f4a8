"""The attempts of a job: one row for each run, with its end and its last lines."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from provisioning.drivers.base import Observation, Phase
from provisioning.enums import Outcome
from provisioning.jobs import COMES_BACK
from provisioning.models import Attempt, Workload
from provisioning.types import JobSpec

MOST_KEPT: Final = 1_000
_MOST_CHARACTERS: Final = 200_000
_ALIVE: Final = (Phase.STARTING, Phase.RUNNING, Phase.STOPPING)


def note(workload: Workload, seen: Observation, *, now: datetime) -> None:
    """What was seen of a job's run. The row is locked by the caller; for what is no job nothing is noted."""
    job = workload.job
    if job is None or seen.incarnation is None or seen.started_at is None:
        return
    known = Attempt.objects.filter(workload=workload, incarnation=seen.incarnation).first()
    if known is None:
        known = Attempt.objects.create(
            organization_id=workload.organization_id,
            workload=workload,
            number=Attempt.objects.filter(workload=workload).count() + 1,
            incarnation=seen.incarnation,
            started_at=seen.started_at,
        )
    if seen.phase in _ALIVE or known.outcome != Outcome.RUNNING:
        return
    known.outcome = outcome_of(job, seen)
    known.ended_at = seen.ended_at or now
    known.exit_code = seen.exit_code
    known.reason = {"code": seen.reason.code, "message": seen.reason.message} if seen.reason else None
    known.log = bounded(seen.log_tail)
    known.save(update_fields=["outcome", "ended_at", "exit_code", "reason", "log"])


def outcome_of(job: JobSpec, seen: Observation) -> Outcome:
    """Of a run that has ended."""
    if seen.exit_code is not None:
        return Outcome.SUCCEEDED if seen.exit_code in job.success_codes else Outcome.FAILED
    if seen.reason is not None and seen.reason.code in COMES_BACK:
        return Outcome.INTERRUPTED
    return Outcome.FAILED if seen.phase is Phase.FAILED else Outcome.STOPPED


def bounded(lines: tuple[str, ...]) -> list[str]:
    """The last lines that fit."""
    kept: list[str] = []
    room = _MOST_CHARACTERS
    for line in reversed(lines[-MOST_KEPT:]):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept[::-1]
