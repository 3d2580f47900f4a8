"""The queue of a cluster: first come, first served among those who want the same accelerator."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from core.types import Reason
from provisioning.admission import best_cluster, fits_now, standing_reason, waiting_reason
from provisioning.enums import ClusterStanding, State
from provisioning.models import Cluster, Workload
from provisioning.reconciler.policy import Pace, Step
from provisioning.types import Move


def admit_to_cluster(workload: Workload) -> Step:
    """Whether a queued workload's turn has come. Holds the cluster's lock until the transaction ends."""
    cluster = (
        Cluster.objects.select_for_update(of=("self",), no_key=True)
        .select_related("region")
        .get(pk=workload.cluster_id)
    )
    shape, place = workload.size, cluster.facts
    if place.standing != ClusterStanding.SERVING:
        reason = standing_reason(place)
        if place.standing == ClusterStanding.REMOVED:
            return Step(Move(verb="workload.failed", message=reason.message, to=(State.FAILED,), reason=reason))
        return Step(reason=reason, pace=Pace.LATER)
    if best_cluster(shape, (place,)) is None and place.healthy:
        reason = Reason(code="never_fits", message=f"{place.slug} has become too small for {shape.label}.")
        return Step(Move(verb="workload.failed", message=reason.message, to=(State.FAILED,), reason=reason))
    ahead = _ahead_of(workload.pk)
    if place.healthy and not ahead and fits_now(shape, place):
        starting = Reason(code="starting", message="Capacity is set aside; the server is starting.")
        move = Move(
            verb="workload.admitted", message=f"Admitted to {place.slug}.", to=(State.PROVISIONING,), reason=starting
        )
        return Step(move)
    return Step(reason=waiting_reason(shape, place, ahead=len(ahead)), pace=Pace.SOON)


def _ahead_of(workload_id: UUID) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM steelyard_ahead_in_queue(%s)", [workload_id])
        return [row[0] for row in cursor.fetchall()]
