"""Workloads as people may see them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from core.errors import NotFound
from core.types import Actor
from provisioning.durations import duration
from provisioning.enums import Source, State, VolumeState
from provisioning.lifecycle import ENDED
from provisioning.models import ActivitySample, Cluster, Event, Shape, Volume, Workload
from provisioning.reclaim import forecast
from provisioning.types import Life, StopForecast, StopRules
from tenants.enums import Permission
from tenants.permissions import projects_filter


def workloads_visible_to(actor: Actor) -> QuerySet[Workload]:
    """Every workload of the projects where the actor may look, deleted ones too, newest first."""
    return Workload.objects.filter(projects_filter(actor, Permission.VIEW_WORKLOAD, prefix="project_id")).order_by(
        "-id"
    )


def living_workloads_visible_to(actor: Actor) -> QuerySet[Workload]:
    return workloads_visible_to(actor).exclude(state=State.DELETED)


def workload_for(actor: Actor, workload_id: UUID) -> Workload:
    """One workload with what its page and the API show. Raises NotFound for one that the actor may not know of.

    Three questions: the time to plan one join of all eleven tables is many times what these take.
    """
    found = (
        workloads_visible_to(actor)
        .filter(pk=workload_id)
        .select_related("project__organization", "owner", "image", "volume")
        .prefetch_related(
            Prefetch("shape", Shape.objects.select_related("accelerator", "region")),
            Prefetch("cluster", Cluster.objects.select_related("region")),
        )
        .first()
    )
    if found is None:
        raise NotFound("workload", workload_id)
    return found


def volumes_visible_to(actor: Actor) -> QuerySet[Volume]:
    """Disks that hold files, newest first. Kept ones can be brought back until `purge_after`."""
    return (
        Volume.objects.filter(projects_filter(actor, Permission.VIEW_WORKLOAD, prefix="project_id"))
        .filter(state__in=[VolumeState.PRESENT, VolumeState.KEPT])
        .order_by("-id")
    )


def kept_volumes(actor: Actor, now: datetime) -> QuerySet[Volume]:
    """Disks of deleted workloads that the actor can still bring back: its own, since they hold a person's files."""
    mine = volumes_visible_to(actor).filter(owner_id=actor.person_id)
    return mine.filter(state=VolumeState.KEPT, purge_after__gt=now).select_related("project")


def timeline(workload: Workload, *, most: int = 200) -> list[Event]:
    """The newest events of a workload that the caller may see, newest first."""
    return list(Event.objects.filter(workload=workload).order_by("-id")[:most])


def latest_activity(workload: Workload) -> ActivitySample | None:
    """What the last probe of a workload that the caller may see said."""
    return ActivitySample.objects.filter(workload=workload).order_by("-at").first()


def latest_events(actor: Actor, *, most: int = 20) -> list[Event]:
    """What happened lately to the workloads that the actor may see."""
    visible = projects_filter(actor, Permission.VIEW_WORKLOAD, prefix="workload__project_id")
    return list(Event.objects.filter(visible).select_related("workload__project").order_by("-id")[:most])


def stop_forecast(workload: Workload) -> StopForecast | None:
    """When a running workload stops by itself and why; None while it does not run."""
    life = life_of(workload)
    if life is None or workload.state != State.RUNNING:
        return None
    return forecast(life, rules_of(workload))


def life_of(workload: Workload) -> Life | None:
    """What the stop rules look at; None while nothing is bound."""
    if workload.bound_at is None:
        return None
    return Life(
        started_at=workload.bound_at,
        last_activity_at=workload.last_activity_at or workload.bound_at,
        last_source=Source(workload.last_activity_source),
        extended_until=workload.stop_extended_until,
    )


def final_end_of(workload: Workload) -> datetime | None:
    """When a policy ends its run whatever anybody wishes; None where no policy does."""
    if not workload.lifetime_rule or workload.max_lifetime is None or workload.bound_at is None:
        return None
    return workload.bound_at + workload.max_lifetime


def rules_of(workload: Workload) -> StopRules:
    """The workload's own rules, else the installation's. A job is done when it is done: it ends by what it asked for
    itself, or by a policy, never for being quiet or old."""
    job = workload.job
    if job is not None:
        return StopRules(
            idle_after=None,
            max_lifetime=min(
                (each for each in (workload.max_lifetime, job.max_duration) if each is not None), default=None
            ),
            warn_before=duration("WARN_BEFORE_STOP"),
            lifetime_rule=workload.lifetime_rule,
        )
    return StopRules(
        idle_after=workload.idle_after or duration("IDLE_STOP_AFTER"),
        max_lifetime=workload.max_lifetime or duration("MAXIMUM_LIFETIME"),
        warn_before=duration("WARN_BEFORE_STOP"),
        idle_rule=workload.idle_rule,
        lifetime_rule=workload.lifetime_rule,
    )


def living_ids(ids: Collection[UUID]) -> set[UUID]:
    """Which of these still live, in the scope's organisation."""
    return set(Workload.objects.filter(pk__in=ids).exclude(state=State.DELETED).values_list("pk", flat=True))


def unfinished_of(owner_id: UUID) -> list[Workload]:
    """A person's workloads that have not ended, in whatever organisation; for the platform's scope."""
    rows = Workload.objects.filter(owner_id=owner_id).exclude(state__in=ENDED)
    return list(rows.select_related("project__organization").order_by("id"))
