"""What a job is, and what follows when one of its attempts has ended. Pure: truth tables.

An attempt is one run of all workers. It is over when the first worker fails or the last one is done: a distributed
training in which a rank is missing makes no progress.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final

from core.errors import FieldError
from provisioning.types import JobSpec

COMES_BACK: Final = frozenset({"platform_stopped", "machine_restarted", "evicted", "preempted_by_kueue"})
"""Ends that nobody wished and that are no failure: the wish stays, and the workload starts again."""
MOST_WORKERS: Final = 256
MOST_RETRIES: Final = 20
MOST_WORDS: Final = 200
LONGEST_COMMAND: Final = 32_768
LONGEST_S: Final = 90 * 24 * 3600
SHORTEST_S: Final = 10
FIRST_BACK_OFF: Final = timedelta(seconds=10)
LONGEST_BACK_OFF: Final = timedelta(minutes=10)


def nonsense(job: JobSpec) -> Iterator[FieldError]:
    """Every field that cannot be meant."""
    if not job.command or not job.command[0].strip():
        yield FieldError("job.command", "missing", "A job needs a command.")
    if len(job.command) > MOST_WORDS or sum(map(len, job.command)) > LONGEST_COMMAND:
        message = f"At most {MOST_WORDS} words and {LONGEST_COMMAND:,} characters: put it in a file."
        yield FieldError("job.command", "too_long", message)
    if any("\0" in word for word in job.command):
        yield FieldError("job.command", "malformed", "A word of a command holds no NUL.")
    if not 1 <= job.workers <= MOST_WORKERS:
        yield FieldError("job.workers", "out_of_range", f"A job has 1 to {MOST_WORKERS} workers.")
    if not 0 <= job.retries <= MOST_RETRIES:
        yield FieldError("job.retries", "out_of_range", f"0 to {MOST_RETRIES} retries.")
    if job.max_duration is not None and not SHORTEST_S <= job.max_duration.total_seconds() <= LONGEST_S:
        yield FieldError("job.max_duration_seconds", "out_of_range", f"{SHORTEST_S} seconds to 90 days.")
    for name, codes in (("success_codes", job.success_codes), ("fatal_codes", job.fatal_codes)):
        if any(not 0 <= code <= 255 for code in codes):
            yield FieldError(f"job.{name}", "out_of_range", "Exit codes are 0 to 255.")
    if not job.success_codes:
        yield FieldError("job.success_codes", "missing", "Name at least one exit code with which it is done.")
    both = sorted(set(job.success_codes) & set(job.fatal_codes))
    if both:
        yield FieldError("job.fatal_codes", "contradiction", f"{both[0]} cannot be success and failure.")


class Next(StrEnum):
    """What follows the end of an attempt."""

    DONE = "done"
    RETRY = "retry"
    FAIL = "fail"


def what_follows(job: JobSpec, *, exit_code: int | None, failures: int) -> Next:
    """`failures`: how many attempts failed before this one. `exit_code` None: nobody can say; that is a failure."""
    if exit_code is not None and exit_code in job.success_codes:
        return Next.DONE
    if exit_code is not None and exit_code in job.fatal_codes:
        return Next.FAIL
    return Next.RETRY if failures < job.retries else Next.FAIL


def back_off(failures: int) -> timedelta:
    """How long to wait before the next attempt, after so many failures (at least one): doubling, bounded."""
    return min(FIRST_BACK_OFF * (1 << min(failures - 1, 16)), LONGEST_BACK_OFF)


def job_of(stored: Mapping[str, object] | None) -> JobSpec | None:
    """The job as `as_json` wrote it, or as somebody asks for it; None where there is none."""
    if not stored:
        return None
    seconds = stored.get("max_duration_seconds")
    return JobSpec(
        command=tuple(str(word) for word in _list(stored, "command")),
        workers=_whole(stored.get("workers"), 1),
        retries=_whole(stored.get("retries"), 0),
        max_duration=timedelta(seconds=seconds) if isinstance(seconds, int) else None,
        success_codes=_codes(stored, "success_codes") if "success_codes" in stored else (0,),
        fatal_codes=_codes(stored, "fatal_codes"),
    )


def _list(stored: Mapping[str, object], name: str) -> list[object]:
    value = stored.get(name)
    return value if isinstance(value, list) else []


def _codes(stored: Mapping[str, object], name: str) -> tuple[int, ...]:
    return tuple(code for code in _list(stored, name) if isinstance(code, int))


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise
