"""What the API says of jobs: what one runs, and its attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.fields import ReasonOutput
from core.api.inputs import Filters, Flag, Shape, Text, Whole
from core.api.shapes import shape
from core.routes import route
from provisioning.enums import Outcome
from provisioning.jobs import (
    LARGEST_SWEEP,
    LONGEST_S,
    MOST_RETRIES,
    MOST_TASKS,
    MOST_WORDS,
    MOST_WORKERS,
    SHORTEST_S,
)
from provisioning.selectors.listing import attempts_of, task_facts, tasks_of
from provisioning.selectors.workloads import workload_for
from provisioning.types import ArraySpec, JobSpec
from tenants.enums import Permission

if TYPE_CHECKING:
    from provisioning.models import Attempt

OUTCOMES = [each.value for each in Outcome]
EXAMPLE = {
    "command": ["python", "train.py", "--epochs", "3"],
    "workers": 2,
    "retries": 3,
    "max_duration_seconds": 86_400,
    "success_codes": [0],
    "fatal_codes": [2],
}


def _code() -> Whole:
    return Whole(min_value=0, max_value=255)


class ArrayInput(Shape[ArraySpec]):
    """Many tasks of one command, so many at once; `workers` stays 1."""

    into = ArraySpec

    count = Whole(
        min_value=1, max_value=MOST_TASKS, required=False, help_text="How many tasks; left out: one a combination."
    )
    parallelism = Whole(
        min_value=1,
        max_value=MOST_WORKERS,
        required=False,
        help_text="How many at once, each on a shape of its own; that is what is held and paid. Left out: 1.",
    )
    sweep = serializers.DictField(
        child=serializers.ListField(child=Text(max_length=LARGEST_SWEEP, allow_blank=True, trim_whitespace=False)),
        required=False,
        help_text="Environment variables with their values: a task for each combination, by the names' order.",
    )
    stop_at_first_failure = Flag(
        required=False, help_text="The first task that fails for good ends the others. Left out: they go on."
    )


class JobInput(Shape[JobSpec]):
    """Needed by the kind `job`, and by no other."""

    into = JobSpec

    command = serializers.ListField(
        child=Text(max_length=32_768, allow_blank=True, trim_whitespace=False),
        min_length=1,
        max_length=MOST_WORDS,
        help_text="Word by word: no shell looks at it.",
    )
    workers = Whole(
        min_value=1,
        max_value=MOST_WORKERS,
        required=False,
        help_text="Each on a shape of its own, all at once.",
    )
    retries = Whole(min_value=0, max_value=MOST_RETRIES, required=False, help_text="After failures of its own.")
    max_duration_seconds = Whole(
        min_value=SHORTEST_S, max_value=LONGEST_S, required=False, allow_null=True, help_text="Of one attempt."
    )
    success_codes = serializers.ListField(
        child=_code(), min_length=1, max_length=20, required=False, help_text="Exit codes with which it is done."
    )
    fatal_codes = serializers.ListField(
        child=_code(), max_length=20, required=False, help_text="Exit codes that are not tried again."
    )
    array = ArrayInput(required=False, allow_null=True)


class ArrayOutput(serializers.Serializer[object]):
    count = serializers.IntegerField()
    parallelism = serializers.IntegerField()
    sweep = serializers.DictField(child=serializers.ListField(child=serializers.CharField(allow_blank=True)))
    stop_at_first_failure = serializers.BooleanField()


class JobOutput(serializers.Serializer[object]):
    command = serializers.ListField(child=serializers.CharField(allow_blank=True))
    workers = serializers.IntegerField()
    retries = serializers.IntegerField()
    max_duration_seconds = serializers.IntegerField(allow_null=True)
    success_codes = serializers.ListField(child=serializers.IntegerField())
    fatal_codes = serializers.ListField(child=serializers.IntegerField())
    array = ArrayOutput(allow_null=True)


class AttemptOutput(serializers.Serializer[object]):
    number = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    outcome = serializers.ChoiceField(OUTCOMES)
    exit_code = serializers.IntegerField(
        allow_null=True, help_text="Of the worker that ended it; null where it did not end by itself."
    )
    reason = ReasonOutput(allow_null=True)


class Attempts(Endpoint):
    @route(permission=Permission.VIEW_WORKLOAD, verb="workload.attempts_listed")
    @shape(
        summary="List a job's attempts",
        output=AttemptOutput,
        listed=True,
        example={
            "number": 1,
            "started_at": "2026-11-30T18:00:00Z",
            "ended_at": "2026-11-30T18:40:00Z",
            "outcome": "failed",
            "exit_code": 1,
            "reason": {"code": "command_failed", "message": "The command failed (exit code 1)."},
        },
    )
    def get(self, request: Request, workload_id: UUID) -> HttpResponse:
        """The newest first. `logs?attempt=1` gives the lines that were kept of one."""
        return self.page(attempts_of(workload_for(self.actor, workload_id)), _attempts)


class TaskOutput(serializers.Serializer[object]):
    index = serializers.IntegerField()
    parameters = serializers.DictField(child=serializers.CharField(allow_blank=True))
    outcome = serializers.ChoiceField(OUTCOMES)
    failures = serializers.IntegerField(help_text="How many of its tries have failed.")
    exit_code = serializers.IntegerField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


@dataclass(frozen=True, slots=True)
class TasksAsked:
    outcome: str = ""


class TaskFilters(Filters[TasksAsked]):
    into = TasksAsked

    outcome = serializers.ChoiceField(OUTCOMES, required=False)


class Tasks(Endpoint):
    @route(permission=Permission.VIEW_WORKLOAD, verb="workload.tasks_listed")
    @shape(
        summary="List an array's tasks",
        output=TaskOutput,
        filters=TaskFilters,
        listed=True,
        example={
            "index": 3,
            "parameters": {"LR": "0.01", "SEED": "2"},
            "outcome": "failed",
            "failures": 2,
            "exit_code": 1,
            "started_at": "2026-11-30T18:00:00Z",
            "ended_at": "2026-11-30T18:40:00Z",
        },
    )
    def get(self, request: Request, workload_id: UUID) -> HttpResponse:
        """Those that have begun, the last to begin first. `logs?task=3` gives what one said."""
        workload = workload_for(self.actor, workload_id)
        rows = tasks_of(workload, outcome=self.filters(TaskFilters).outcome)
        return self.page(rows, lambda found: [task_facts(workload, row) for row in found])


def _attempts(rows: Sequence[Attempt]) -> list[object]:
    return [
        {
            "number": row.number,
            "started_at": row.started_at,
            "ended_at": row.ended_at,
            "outcome": row.outcome,
            "exit_code": row.exit_code,
            "reason": row.reason,
        }
        for row in rows
    ]
