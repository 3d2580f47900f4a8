"""What a job is, and what follows when one of its attempts has ended. Pure: truth tables.

An attempt is one run of all workers. It is over when the first worker fails or the last one is done: a distributed
training in which a rank is missing makes no progress.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from math import prod
from typing import Final

from core.errors import FieldError
from provisioning.types import ArraySpec, JobSpec

COMES_BACK: Final = frozenset(
    {"platform_stopped", "machine_restarted", "evicted", "spot_interrupted", "node_lost", "preempted_by_kueue"}
)
"""Ends that nobody wished and that are no failure: the wish stays, and the workload starts again."""
MOST_WORKERS: Final = 256
MOST_RETRIES: Final = 20
MOST_WORDS: Final = 200
LONGEST_COMMAND: Final = 32_768
LONGEST_S: Final = 90 * 24 * 3600
SHORTEST_S: Final = 10
FIRST_BACK_OFF: Final = timedelta(seconds=10)
LONGEST_BACK_OFF: Final = timedelta(minutes=10)
MOST_TASKS: Final = 1_000
MOST_PARAMETERS: Final = 16
LARGEST_SWEEP: Final = 16_384
"""Characters of all its values together."""
OURS: Final = frozenset({"HOME", "PATH", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"})
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_BREAK: Final = re.compile(r"[\0\r\n]")
OUR_PREFIXES: Final = ("STEELYARD_", "PET_", "JOB_COMPLETION_", "KUBERNETES_")


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
    if job.array is not None:
        yield from _nonsense_of_array(job, job.array)


def _nonsense_of_array(job: JobSpec, array: ArraySpec) -> Iterator[FieldError]:
    if job.workers != 1:
        message = "The tasks of an array have one worker each: leave the workers at 1, or the array out."
        yield FieldError("job.workers", "contradiction", message)
    if job.success_codes != (0,):
        message = "A task of an array is done with exit code 0 alone."
        yield FieldError("job.success_codes", "contradiction", message)
    if not 1 <= array.count <= MOST_TASKS:
        yield FieldError("job.array.count", "out_of_range", f"An array has 1 to {MOST_TASKS:,} tasks.")
    elif array.sweep and array.count != size_of(array.sweep):
        message = f"The sweep has {size_of(array.sweep):,} combinations: leave the count out."
        yield FieldError("job.array.count", "contradiction", message)
    if not 1 <= array.parallelism <= MOST_WORKERS:
        yield FieldError("job.array.parallelism", "out_of_range", f"1 to {MOST_WORKERS} tasks at once.")
    yield from _nonsense_of_sweep(array.sweep)


def _nonsense_of_sweep(sweep: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[FieldError]:
    if len(sweep) > MOST_PARAMETERS:
        yield FieldError("job.array.sweep", "too_many", f"At most {MOST_PARAMETERS} variables.")
    if sum(len(value) for _, values in sweep for value in values) > LARGEST_SWEEP:
        yield FieldError("job.array.sweep", "too_long", f"At most {LARGEST_SWEEP:,} characters of values.")
    for name, values in sweep:
        if _VARIABLE.fullmatch(name) is None:
            yield FieldError("job.array.sweep", "malformed", f"{name[:40]!r} is not a name of a variable.")
        elif name in OURS or name.startswith(OUR_PREFIXES):
            yield FieldError("job.array.sweep", "reserved", f"{name} is set by the platform. Choose another name.")
        if not values or any(_BREAK.search(value) for value in values):
            yield FieldError("job.array.sweep", "malformed", f"{name[:40]} needs values, each of one line.")


def size_of(sweep: Sequence[tuple[str, tuple[str, ...]]]) -> int:
    """How many combinations a sweep has."""
    return prod(len(values) for _, values in sweep)


def parameters_of(sweep: Sequence[tuple[str, tuple[str, ...]]], index: int) -> dict[str, str]:
    """The variables of one task of a sweep: the last one turns fastest."""
    found: dict[str, str] = {}
    for name, values in reversed(sweep):
        index, turn = divmod(index, len(values))
        found[name] = values[turn]
    return {name: found[name] for name, _ in sweep}


class Next(StrEnum):
    """What follows the end of an attempt."""

    DONE = "done"
    RETRY = "retry"
    FAIL = "fail"


def what_follows(job: JobSpec, *, exit_code: int | None, failures: int) -> Next:
    """`failures`: how many attempts failed before this one. `exit_code` None: nobody can say; that is a failure.

    An array is never tried again as a whole: each of its tasks has been.
    """
    if exit_code is not None and exit_code in job.success_codes:
        return Next.DONE
    if job.array is not None or (exit_code is not None and exit_code in job.fatal_codes):
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
        array=_array(stored.get("array")),
    )


def _array(stored: object) -> ArraySpec | None:
    """A sweep that says no count has as many tasks as combinations."""
    if not isinstance(stored, Mapping):
        return None
    asked = stored.get("sweep")
    named = sorted(asked.items()) if isinstance(asked, Mapping) else []
    sweep = tuple((str(name), tuple(map(str, values))) for name, values in named if isinstance(values, list))
    return ArraySpec(
        count=_whole(stored.get("count"), size_of(sweep) if sweep else 0),
        parallelism=_whole(stored.get("parallelism"), 1),
        sweep=sweep,
        stops_at_failure=stored.get("stop_at_first_failure") is True,
    )


def _list(stored: Mapping[str, object], name: str) -> list[object]:
    value = stored.get(name)
    return value if isinstance(value, list) else []


def _codes(stored: Mapping[str, object], name: str) -> tuple[int, ...]:
    return tuple(code for code in _list(stored, name) if isinstance(code, int))


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise
