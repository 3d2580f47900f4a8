"""What a driver may know of a workload."""

from __future__ import annotations

from dataclasses import replace

from provisioning.drivers.base import RunSpec
from provisioning.drivers.jobs import ArrayRun
from provisioning.drivers.places import LOCAL, NOWHERE, Place
from provisioning.enums import CapacityKind, ClusterStanding, Kind, Outcome
from provisioning.models import Attempt, Cluster, ClusterAccess, Task, Workload


def spec_of(workload: Workload, *, variables: bool = True) -> RunSpec:
    """What the driver may know of a workload, or that without its variables. Needs shape, accelerator, image,
    volume and cluster loaded."""
    shape, job = workload.shape, workload.job
    return RunSpec(
        workload_id=workload.pk,
        organization_id=workload.organization_id,
        project_id=workload.project_id,
        volume_id=workload.volume_id,
        kind=workload.kind,
        image=workload.image.reference_on(workload.cluster.driver),
        vcpus=shape.vcpus,
        memory_gib=shape.memory_gib,
        disk_gib=workload.volume.size_gib,
        accelerator=shape.accelerator.model if shape.accelerator else None,
        accelerator_count=shape.accelerator_count,
        env=dict(workload.env) if variables else {},
        command=() if job is None else job.command,
        workers=workload.replicas,
        framework=workload.image.kind if workload.kind == Kind.CLUSTER else "",
        spot=shape.capacity_kind == CapacityKind.SPOT,
    )


def next_run_of(workload: Workload) -> RunSpec:
    """The same with what differs from run to run of a job. Two queries for an array, one for another job."""
    spec = spec_of(workload)
    if workload.job is None:
        return spec
    ended = Attempt.objects.filter(workload=workload).exclude(outcome=Outcome.RUNNING)
    outcomes = list(ended.values_list("outcome", flat=True))
    return replace(
        spec,
        array=array_of(workload),
        attempt=len(outcomes) + 1,
        interruptions=outcomes.count(Outcome.INTERRUPTED),
    )


def whole_array_of(workload: Workload) -> ArrayRun | None:
    """All tasks of an array, whatever has become of them; None of what is no array."""
    job = workload.job
    if job is None or job.array is None:
        return None
    return ArrayRun(
        tasks=tuple(range(job.array.count)),
        count=job.array.count,
        sweep=job.array.sweep,
        retries=job.retries,
        fatal_codes=job.fatal_codes,
        stops_at_failure=job.array.stops_at_failure,
    )


def array_of(workload: Workload) -> ArrayRun | None:
    """The tasks that the next run has, or that this one still has; None of what is no array. One query."""
    job = workload.job
    if job is None or job.array is None:
        return None
    rows = Task.objects.filter(workload=workload).values_list("index", "outcome", "incarnation")
    done = {index for index, outcome, _ in rows if outcome == Outcome.SUCCEEDED}
    bound = workload.incarnation if workload.bound_at is not None else None
    failed = {index for index, outcome, run in rows if outcome == Outcome.FAILED and run == bound}
    whole = whole_array_of(workload)
    assert whole is not None
    left = tuple(index for index in whole.tasks if index not in done)
    return replace(whole, tasks=left, taken=frozenset(done | failed))


def place_of(cluster: Cluster) -> Place:
    """Where the cluster's driver works. One query, and none for a cluster that is reached over no network."""
    if cluster.driver == LOCAL.driver:
        return LOCAL
    if cluster.standing == ClusterStanding.REMOVED:
        return NOWHERE
    access = ClusterAccess.objects.filter(cluster=cluster).first()
    if access is None:
        return Place(cluster.driver, cluster.pk)
    return replace(access.place(cluster.driver), offers=tuple(cluster.installed), topology=cluster.topology)


def places_in_use() -> list[Place]:
    """Where drivers work: this machine once, each cluster behind an API server."""
    here = Cluster.objects.exclude(standing=ClusterStanding.REMOVED)
    return sorted({place_of(cluster) for cluster in here}, key=lambda place: str(place.cluster_id))
