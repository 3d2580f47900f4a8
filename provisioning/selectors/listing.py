"""Workloads, their history and their disks, as lists of the API and of scripts ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Case, Count, QuerySet, Value, When

from core.errors import NotFound
from core.types import Actor, Reason
from provisioning.enums import Outcome, State, VolumeState
from provisioning.errors import NameTaken, VolumeUnavailable
from provisioning.jobs import parameters_of
from provisioning.models import Attempt, Condition, Event, Task, Volume, Workload
from provisioning.selectors.workloads import living_workloads_visible_to, volumes_visible_to, workloads_visible_to
from provisioning.types import WorkloadSpec
from tenants.selectors import project_for

if TYPE_CHECKING:
    from tenants.models import Project, User


@dataclass(frozen=True, slots=True)
class WorkloadFilter:
    """Empty fields filter nothing. `project`: an id or `organization/project`."""

    project: str = ""
    kind: str = ""
    state: str = ""
    owner: UUID | None = None


@dataclass(frozen=True, slots=True)
class VolumeFilter:
    project: str = ""
    state: str = ""
    owner: UUID | None = None


def workloads_matching(actor: Actor, asked: WorkloadFilter) -> QuerySet[Workload]:
    """The living workloads that the actor may see; deleted ones where that state is asked for. Raises NotFound."""
    visible = workloads_visible_to if asked.state == State.DELETED else living_workloads_visible_to
    rows = visible(actor)
    if asked.project:
        rows = rows.filter(project_id=project_for(actor, asked.project).pk)
    if asked.kind:
        rows = rows.filter(kind=asked.kind)
    if asked.state:
        rows = rows.filter(state=asked.state)
    if asked.owner is not None:
        rows = rows.filter(owner_id=asked.owner)
    return rows


def volumes_matching(actor: Actor, asked: VolumeFilter) -> QuerySet[Volume]:
    """The disks that the actor may see. Raises NotFound for a project that it may not."""
    rows = volumes_visible_to(actor)
    if asked.project:
        rows = rows.filter(project_id=project_for(actor, asked.project).pk)
    if asked.state:
        rows = rows.filter(state=asked.state)
    if asked.owner is not None:
        rows = rows.filter(owner_id=asked.owner)
    return rows.select_related("project", "cluster")


def volume_for(actor: Actor, volume_id: UUID) -> Volume:
    """Raises NotFound for one that holds no files any more, or that the actor may not know of."""
    found = volumes_visible_to(actor).filter(pk=volume_id).select_related("project", "cluster").first()
    if found is None:
        raise NotFound("volume", volume_id)
    return found


def events_of(workload: Workload) -> QuerySet[Event]:
    """The whole timeline of a workload that the caller may see."""
    return Event.objects.filter(workload=workload)


def attempts_of(workload: Workload) -> QuerySet[Attempt]:
    """The attempts of a job that the caller may see, without their lines."""
    return Attempt.objects.filter(workload=workload).defer("log")


def tasks_of(workload: Workload, *, outcome: str = "") -> QuerySet[Task]:
    """The tasks of an array that have begun, without their lines."""
    rows = Task.objects.filter(workload=workload).defer("log")
    return rows.filter(outcome=outcome) if outcome else rows


def task_counts(workload: Workload) -> dict[str, int]:
    """How many tasks have begun, by outcome."""
    rows = Task.objects.filter(workload=workload).values_list("outcome")
    return dict(rows.annotate(many=Count("pk")))


def tasks_to_show(workload: Workload, *, most: int) -> list[Task]:
    """What failed first, then what runs, then what was cut off, then the rest; each by number."""
    first = (Outcome.FAILED, Outcome.RUNNING, Outcome.WAITING, Outcome.INTERRUPTED, Outcome.STOPPED)
    rank = Case(*(When(outcome=each, then=Value(place)) for place, each in enumerate(first)), default=Value(9))
    return list(tasks_of(workload).order_by(rank, "index")[:most])


def task_facts(workload: Workload, row: Task) -> dict[str, object]:
    """A task as lists tell it, with the variables that it alone has."""
    job = workload.job
    sweep = job.array.sweep if job is not None and job.array is not None else ()
    return {
        "index": row.index,
        "parameters": parameters_of(sweep, row.index),
        "outcome": row.outcome,
        "failures": row.failures,
        "exit_code": row.exit_code,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
    }


def event_facts(row: Event, people: Mapping[UUID, User]) -> dict[str, object]:
    """An event as lists and streams tell it, with the people whom it names."""
    person = people.get(row.actor_id) if row.actor_id else None
    return {
        "id": row.pk,
        "at": row.at,
        "code": row.code,
        "message": row.message,
        "actor": {"id": row.actor_id, "label": person.email if person else ""} if row.actor_id else None,
        "details": row.details,
    }


def conditions_of(workload: Workload) -> list[Condition]:
    return list(Condition.objects.filter(workload=workload).order_by("type"))


def clashes(project: Project, spec: WorkloadSpec, now: datetime) -> list[Reason]:
    """What a launch would stumble over beside admission: a taken name, a disk that is not to be had."""
    found = []
    same = Workload.objects.filter(project=project, name=spec.name).exclude(state=State.DELETED)
    if spec.name and same.exists():
        message = f"There is a workload called {spec.name} in this project. Choose another name."
        found.append(Reason(code=NameTaken.code, message=message))
    volume = Volume.objects.filter(pk=spec.volume_id).first() if spec.volume_id else None
    if volume is not None and not _can_come_back(volume, now):
        message = f"The disk {volume.name} is in use, or it is gone for good."
        found.append(Reason(code=VolumeUnavailable.code, message=message))
    return found


def _can_come_back(volume: Volume, now: datetime) -> bool:
    return volume.state == VolumeState.KEPT and volume.purge_after is not None and volume.purge_after > now
