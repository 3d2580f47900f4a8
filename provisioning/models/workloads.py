"""Workloads: the wish, and what became of it."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

from django.db import models
from django.db.models import F, Q

from core.models import ScopedManager, TenantModel
from core.types import ObjectRef
from provisioning.enums import DesiredState, Kind, Source, State, choices
from provisioning.jobs import job_of
from provisioning.naming import new_label
from provisioning.types import JobSpec, ShapeFacts, workload_ref


class Workload(TenantModel):
    """One thing that runs for somebody. Only `services.transitions` writes `state`.

    `generation` counts wishes, `observed_generation` is the one that the reconciler last acted on. `label` names the
    workspace's own origin. `incarnation` is the driver's name of the last run that was weighed, `bound_at` its start
    (None while nothing is bound); `placed_at` is since when the cluster's capacity is occupied. `version` is the ETag.
    `idle_rule` and `lifetime_rule` name the policies that set these limits, as they stood at the last admission.
    `preemptible`: it may be ended, to start again later, where it stands on quota that its lender wants back.
    `replicas`: how many of its shape it takes. `failures`: how many attempts of a job have failed since somebody
    started it; `retry_at`: not before then is it tried again. `mark`: how it looked on its cluster when it was last
    seen to run well; while lists say the same, nobody looks at it by itself. `probe_at`: not before then do the stop
    rules need to know what it does; None: now.
    """

    project = models.ForeignKey("tenants.Project", on_delete=models.PROTECT, related_name="workloads", db_index=False)
    owner = models.ForeignKey("tenants.User", on_delete=models.PROTECT, related_name="workloads")
    kind = models.CharField(max_length=12, choices=choices(Kind))
    name = models.CharField(max_length=60)
    shape = models.ForeignKey("provisioning.Shape", on_delete=models.PROTECT, related_name="+")
    image = models.ForeignKey("provisioning.Image", on_delete=models.PROTECT, related_name="+")
    volume = models.ForeignKey("provisioning.Volume", on_delete=models.PROTECT, related_name="workloads")
    cluster = models.ForeignKey("provisioning.Cluster", on_delete=models.PROTECT, related_name="+")
    env = models.JSONField(default=dict)
    spec = models.JSONField(default=dict)
    preemptible = models.BooleanField(default=False)
    replicas = models.PositiveIntegerField(default=1)
    request_key = models.CharField(max_length=200, null=True)
    created_at = models.DateTimeField()

    desired_state = models.CharField(max_length=10, choices=choices(DesiredState), default=DesiredState.RUNNING)
    generation = models.PositiveIntegerField(default=1)
    observed_generation = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=12, choices=choices(State), default=State.REQUESTED)
    state_since = models.DateTimeField()
    ends_as = models.CharField(max_length=12, choices=choices(State), default=State.STOPPED)
    reason = models.JSONField(null=True)
    queued_at = models.DateTimeField(null=True)
    deadline_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=1)

    label = models.CharField(max_length=24, unique=True, default=new_label)
    placed_at = models.DateTimeField(null=True)
    incarnation = models.CharField(max_length=64, blank=True)
    bound_at = models.DateTimeField(null=True)
    running_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    mark = models.CharField(max_length=32, blank=True)
    probe_at = models.DateTimeField(null=True)

    last_activity_at = models.DateTimeField(null=True)
    last_activity_source = models.CharField(max_length=12, choices=choices(Source), default=Source.START)
    idle_after = models.DurationField(null=True)
    max_lifetime = models.DurationField(null=True)
    idle_rule = models.CharField(max_length=120, blank=True)
    lifetime_rule = models.CharField(max_length=120, blank=True)
    stop_extended_until = models.DateTimeField(null=True)
    warned_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    retry_at = models.DateTimeField(null=True)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"], name="workload_name_once_among_the_living", condition=~Q(state="deleted")
            ),
            models.UniqueConstraint(
                fields=["volume"], name="workload_alone_on_its_volume", condition=~Q(state="deleted")
            ),
            models.UniqueConstraint(fields=["organization", "owner", "request_key"], name="workload_asked_once"),
            models.CheckConstraint(
                name="workload_observed_what_was_wished", condition=Q(observed_generation__lte=F("generation"))
            ),
        ]
        indexes = [
            models.Index(fields=["organization", "-id"], name="workload_newest_first"),
            models.Index(fields=["organization", "project", "-id"], name="workload_of_project"),
            models.Index(fields=["due_at"], name="workload_due", condition=Q(due_at__isnull=False)),
            models.Index(
                fields=["id"], name="workload_unobserved", condition=Q(observed_generation__lt=F("generation"))
            ),
            models.Index(fields=["cluster", "queued_at", "id"], name="workload_queue", condition=Q(state="queued")),
            models.Index(fields=["id"], name="workload_running", condition=Q(state="running")),
            models.Index(fields=["id"], name="workload_requested", condition=Q(state="requested")),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> ShapeFacts:
        """All of it: its shape as often as it takes it. Without a price. Needs shape, region and accelerator loaded."""
        return replace(self.shape.facts, times=self.replicas)

    @property
    def job(self) -> JobSpec | None:
        return job_of(self.spec.get("job"))

    @property
    def ref(self) -> ObjectRef:
        return workload_ref(self.pk, self.name)
