"""What happened to a workload: timeline, conditions, occupied capacity, activity."""

from __future__ import annotations

from typing import ClassVar, Self

from django.db import models
from django.db.models import Q

from core.models import ScopedManager, TenantModel
from provisioning.enums import Activity, ConditionStatus, ConditionType, Outcome, choices


class Condition(TenantModel):
    """A fact beside the state that may be true, false or unknown, and since when."""

    workload = models.ForeignKey("provisioning.Workload", on_delete=models.CASCADE, related_name="conditions")
    type = models.CharField(max_length=20, choices=choices(ConditionType))
    status = models.CharField(max_length=10, choices=choices(ConditionStatus))
    code = models.CharField(max_length=60, blank=True)
    message = models.CharField(max_length=500, blank=True)
    since = models.DateTimeField()

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workload", "type"], name="condition_once")]


class Event(TenantModel):
    """One line of a workload's timeline. `actor_id` None: the platform."""

    workload = models.ForeignKey(
        "provisioning.Workload", on_delete=models.CASCADE, related_name="events", db_index=False
    )
    at = models.DateTimeField()
    code = models.CharField(max_length=60)
    message = models.TextField()
    actor_id = models.UUIDField(null=True)
    details = models.JSONField(default=dict)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        indexes = [models.Index(fields=["workload", "id"], name="event_timeline")]


class Attempt(TenantModel):
    """One run of a job: all its workers from their start to the end of the last. `number` counts from one.

    `log`: its last lines, kept when its processes are gone. `exit_code`: of the worker that ended it, where one did.
    """

    workload = models.ForeignKey("provisioning.Workload", on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    incarnation = models.CharField(max_length=64)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=12, choices=choices(Outcome), default=Outcome.RUNNING)
    exit_code = models.IntegerField(null=True)
    reason = models.JSONField(null=True)
    log = models.JSONField(default=list)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workload", "number"], name="attempt_numbered_once"),
            models.UniqueConstraint(fields=["workload", "incarnation"], name="attempt_of_one_run"),
        ]


class Task(TenantModel):
    """One task of an array, as it was last seen. `index` counts from nought. `incarnation`: the run that it is of.

    `log`: the last lines of its last try, kept when its processes are gone.
    """

    workload = models.ForeignKey(
        "provisioning.Workload", on_delete=models.CASCADE, related_name="tasks", db_index=False
    )
    index = models.PositiveIntegerField()
    incarnation = models.CharField(max_length=64)
    outcome = models.CharField(max_length=12, choices=choices(Outcome), default=Outcome.RUNNING)
    failures = models.PositiveIntegerField(default=0)
    exit_code = models.IntegerField(null=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    log = models.JSONField(default=list)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workload", "index"], name="task_once")]


class ClusterEvent(TenantModel):
    """What the cluster said of a workload, kept when the cluster has forgotten it. `uid`: its own id of it."""

    workload = models.ForeignKey(
        "provisioning.Workload", on_delete=models.CASCADE, related_name="cluster_events", db_index=False
    )
    uid = models.CharField(max_length=64)
    at = models.DateTimeField()
    about = models.CharField(max_length=300)
    reason = models.CharField(max_length=120)
    message = models.TextField()
    warning = models.BooleanField(default=False)
    count = models.PositiveIntegerField(default=1)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workload", "uid"], name="cluster_event_once")]


class Allocation(TenantModel):
    """Capacity of a cluster that a workload occupies, half-open [held_from, held_to); open while held_to is None."""

    workload = models.ForeignKey("provisioning.Workload", on_delete=models.PROTECT, related_name="allocations")
    cluster = models.ForeignKey("provisioning.Cluster", on_delete=models.PROTECT, related_name="+")
    resources = models.JSONField()
    held_from = models.DateTimeField()
    held_to = models.DateTimeField(null=True)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workload"], name="allocation_one_open", condition=Q(held_to__isnull=True))
        ]


class ActivitySample(TenantModel):
    """What a probe of a running workload said. `verdict` unknown: it could not say."""

    workload = models.ForeignKey(
        "provisioning.Workload", on_delete=models.CASCADE, related_name="activity_samples", db_index=False
    )
    at = models.DateTimeField()
    verdict = models.CharField(max_length=10, choices=choices(Activity))
    busy_kernels = models.PositiveIntegerField(default=0)
    busy_terminals = models.PositiveIntegerField(default=0)
    detached = models.PositiveIntegerField(default=0)
    connections = models.PositiveIntegerField(default=0)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        indexes = [models.Index(fields=["workload", "-at"], name="activity_newest_first")]
