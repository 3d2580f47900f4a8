"""Workloads, their history and their disks, as lists of the API and of scripts ask for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import QuerySet

from core.errors import NotFound
from core.types import Actor, Reason
from provisioning.enums import State
from provisioning.models import Condition, Event, Volume, Workload
from provisioning.selectors.workloads import living_workloads_visible_to, volumes_visible_to, workloads_visible_to
from tenants.selectors import project_for

if TYPE_CHECKING:
    from tenants.models import Project


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


def conditions_of(workload: Workload) -> list[Condition]:
    return list(Condition.objects.filter(workload=workload).order_by("type"))


def name_conflict(project: Project, name: str) -> Reason | None:
    """Why a launch under this name would fail; None where the name is free."""
    if not name or not Workload.objects.filter(project=project, name=name).exclude(state=State.DELETED).exists():
        return None
    message = f"There is a workload called {name} in this project. Choose another name."
    return Reason(code="name_taken", message=message)
