"""What the API of provisioning takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from rest_framework import serializers

from core.api.inputs import Filters, Flag, Input, Text, Whole
from provisioning.api.describing import KINDS, STATES, VOLUME_STATES
from provisioning.api.jobs import JobInput
from provisioning.jobs import job_of
from provisioning.selectors.listing import VolumeFilter, WorkloadFilter
from provisioning.services.reading import MOST_LINES
from provisioning.types import ClusterSpec, WorkloadSpec

_PROJECT_HELP = "Id or organization/project."
_FOLLOW_HELP = "`true` is answered 307: go where it leads for a stream."
_USUAL_DISK_GIB = 20


class Switch(serializers.BooleanField):
    """A query field that is `true` or `false`."""

    def to_internal_value(self, data: object) -> bool:
        if data not in ("true", "false"):
            self.fail("invalid", input=data)
        return data == "true"


@dataclass(frozen=True, slots=True)
class Launch:
    project: str
    kind: str
    shape: str
    image: str
    name: str = ""
    disk_gib: int = _USUAL_DISK_GIB
    env: Mapping[str, str] = field(default_factory=dict)
    volume: UUID | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    preemptible: bool = False
    justification: str = ""
    job: Mapping[str, object] | None = None
    nodes: int | None = None

    @property
    def spec(self) -> WorkloadSpec:
        return WorkloadSpec(
            kind=self.kind,
            shape=self.shape,
            image=self.image,
            disk_gib=self.disk_gib,
            name=self.name,
            env=dict(self.env),
            volume_id=self.volume,
            labels=dict(self.labels),
            preemptible=self.preemptible,
            job=None if self.job is None else job_of(self.job),
            cluster=None if self.nodes is None else ClusterSpec(self.nodes),
        )


class LaunchInput(Input[Launch]):
    into = Launch
    example = {
        "project": "aurora/vision",
        "kind": "workspace",
        "name": "notebook",
        "shape": "h100-1",
        "image": "jupyterlab",
        "disk_gib": 20,
        "env": {"TEAM": "vision"},
        "labels": {"experiment": "baseline"},
    }

    project = Text(max_length=90, help_text=_PROJECT_HELP)
    kind = serializers.ChoiceField(KINDS)
    shape = Text(max_length=60, help_text="The slug of a shape.")
    image = Text(max_length=60, help_text="The slug of an image.")
    name = Text(max_length=48, required=False, help_text="Unique in the project; left out: the platform gives one.")
    disk_gib = Whole(
        min_value=1, max_value=65_536, required=False, help_text=f"Left out: {_USUAL_DISK_GIB}, or the volume's size."
    )
    env = serializers.DictField(
        child=Text(max_length=4096, allow_blank=True, trim_whitespace=False),
        required=False,
        help_text="Environment variables. Only the owner sees them again.",
    )
    volume = serializers.UUIDField(
        required=False, allow_null=True, help_text="The disk of a deleted workload, to be brought back."
    )
    labels = serializers.DictField(
        child=Text(max_length=120), required=False, help_text="By name; a policy may ask for some."
    )
    preemptible = Flag(
        required=False, help_text="It may be ended, to start again later, where its lender wants borrowed quota back."
    )
    job = JobInput(required=False, allow_null=True)
    nodes = Whole(
        min_value=1,
        max_value=64,
        required=False,
        allow_null=True,
        help_text="Needed by the kind `cluster`: how many, each on a shape of its own; the first is the head.",
    )
    justification = Text(
        max_length=1000, required=False, allow_blank=True, help_text="Why, for whoever has to approve it."
    )


@dataclass(frozen=True, slots=True)
class DryRun:
    dry_run: bool = False


class DryRunFilters(Filters[DryRun]):
    into = DryRun

    dry_run = Switch(required=False, help_text="Say what a launch would do and do nothing.")


@dataclass(frozen=True, slots=True)
class Rename:
    name: str


class RenameInput(Input[Rename]):
    into = Rename
    example = {"name": "training"}

    name = Text(max_length=48)


class WorkloadFilters(Filters[WorkloadFilter]):
    into = WorkloadFilter

    project = serializers.CharField(required=False, max_length=90, help_text=_PROJECT_HELP)
    kind = serializers.ChoiceField(KINDS, required=False)
    state = serializers.ChoiceField(STATES, required=False, help_text="Left out: all but deleted.")
    owner = serializers.UUIDField(required=False)


class VolumeFilters(Filters[VolumeFilter]):
    into = VolumeFilter

    project = serializers.CharField(required=False, max_length=90, help_text=_PROJECT_HELP)
    state = serializers.ChoiceField(VOLUME_STATES, required=False)
    owner = serializers.UUIDField(required=False)


@dataclass(frozen=True, slots=True)
class LogAsked:
    tail: int = 200
    follow: bool = False
    attempt: int | None = None
    task: int | None = None


class LogFilters(Filters[LogAsked]):
    into = LogAsked

    tail = serializers.IntegerField(
        min_value=1, max_value=MOST_LINES, required=False, help_text="How many of the last lines; left out: 200."
    )
    follow = Switch(required=False, help_text=_FOLLOW_HELP)
    attempt = serializers.IntegerField(min_value=1, max_value=1_000_000, required=False, help_text="Of a job.")
    task = serializers.IntegerField(min_value=0, max_value=1_000_000, required=False, help_text="Of an array.")


@dataclass(frozen=True, slots=True)
class EventsAsked:
    follow: bool = False


class EventFilters(Filters[EventsAsked]):
    into = EventsAsked

    follow = Switch(required=False, help_text=_FOLLOW_HELP)
