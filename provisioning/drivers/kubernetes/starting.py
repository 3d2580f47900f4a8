"""Lays a project's ground, makes a volume's claim and applies a run's set. Every step may be repeated by anybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import uuid4

from provisioning.drivers.base import Phase, Reason, RunSpec
from provisioning.drivers.kubernetes import namespaces, queues, runs, volumes
from provisioning.drivers.kubernetes import record as records
from provisioning.drivers.kubernetes.client import Api, Refused
from provisioning.drivers.kubernetes.names import GROUND, record_of
from provisioning.drivers.kubernetes.namespaces import Ground
from provisioning.drivers.kubernetes.objects import path, path_of
from provisioning.drivers.kubernetes.reading import Json, part, text
from provisioning.drivers.kubernetes.record import Record, Stage
from provisioning.drivers.kubernetes.view import Overtaken, Spot, write
from provisioning.drivers.places import Place

_MISSING: Final = {
    "RayCluster": Reason("kuberay_missing", "This cluster has no KubeRay, which Ray clusters need."),
    "DaskCluster": Reason("dask_operator_missing", "This cluster has no Dask operator, which Dask clusters need."),
}


def refusal(refused: Refused) -> Reason:
    """The API server's own words. A name that it gives to the kind of refusal is no use to people."""
    return Reason("refused_by_cluster", f"The cluster refuses it: {refused.message}")


def lay_ground(api: Api, spec: RunSpec, place: Place, ground: Ground) -> None:
    """Nothing is written where the namespace says that all of it is there."""
    things = namespaces.manifests(
        cluster_id=place.cluster_id,
        organization_id=spec.organization_id,
        project_id=spec.project_id,
        ground=ground,
    )
    mark = namespaces.fingerprint(things)
    known = api.get(path_of(things[0]))
    if text(known, "metadata", "annotations", GROUND) == mark:
        return
    for thing in things:
        apply(api, thing)
    apply(api, namespaces.marked(things[0], mark))


def begin(api: Api, spec: RunSpec, place: Place, known: Json | None, last: Record | None) -> Record:
    """Of all who try at once one succeeds; the others are Overtaken. `known`: the claim as it was read, `last`: the run
    after which this one begins."""
    fresh = Record(incarnation=uuid4().hex)
    if known is None:
        _claim_with(api, spec, place, fresh)
        return fresh
    claim = claim_volume(api, spec, place, known)
    if records.in_claim(claim, record_of(spec.workload_id)) != last:
        raise Overtaken
    write(api, Spot.of(spec), claim, fresh)
    return fresh


def _claim_with(api: Api, spec: RunSpec, place: Place, record: Record) -> None:
    """A first claim says of its run from the first instant on: no controller that binds it comes in between."""
    wanted = volumes.claim(spec, place)
    metadata = part(wanted, "metadata") | {"annotations": {record_of(spec.workload_id): records.dumped(record)}}
    try:
        api.create(path(text(wanted, "kind"), text(metadata, "namespace")), wanted | {"metadata": metadata})
    except Refused as refused:
        if refused.reason == "AlreadyExists":
            raise Overtaken from refused
        raise


def claim_volume(api: Api, spec: RunSpec, place: Place, known: Json) -> Json:
    """The claim as it is on the cluster. One that is there keeps its class: it only ever grows."""
    wanted = volumes.claim(spec, place)
    if text(known, "metadata", "deletionTimestamp"):
        raise Refused(409, "Conflict", "Its volume is being removed.")
    size = part(wanted, "spec", "resources", "requests")
    if _gib(known) < spec.disk_gib:
        return api.merge(path_of(wanted), {"spec": {"resources": {"requests": size}}}) or known
    return known


def set_up(api: Api, spec: RunSpec, place: Place, record: Record) -> Record | None:
    """What makes the pods of this run. What the cluster says where it will not have it, as the run's end.

    Made, not applied: whoever comes late with a run that is over must not turn the next one's into its own.
    """
    manifest = runs.manifest(spec, place, record.incarnation)
    try:
        if queues.takes(spec, place):
            apply(api, queues.local_queue(spec, place))
        for companion in runs.companions(spec, place):
            apply(api, companion)
        api.create(path(text(manifest, "kind"), text(manifest, "metadata", "namespace")), manifest)
    except Refused as refused:
        if refused.reason == "AlreadyExists":
            raise Overtaken from refused
        why = _MISSING.get(text(manifest, "kind")) if refused.status == 404 else None
        return Record(record.incarnation, Stage.ENDED, outcome=Phase.FAILED, reason=why or refusal(refused))
    return None


def apply(api: Api, manifest: Mapping[str, object]) -> Json:
    """Raises Overtaken where two made it at the same instant."""
    try:
        return api.apply(path_of(manifest), manifest)
    except Refused as refused:
        if refused.status == 409:
            raise Overtaken from refused
        raise


def _gib(claim: Json) -> int:
    """Of a claim that we wrote. Sizes of other hands read as large enough."""
    size = text(claim, "spec", "resources", "requests", "storage").removesuffix("Gi")
    return int(size) if size.isdigit() else 1_000_000
