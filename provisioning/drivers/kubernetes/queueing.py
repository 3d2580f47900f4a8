"""Keeps Kueue's queues in step with our limits, and reads what Kueue says of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from provisioning.drivers.kubernetes import queues
from provisioning.drivers.kubernetes.client import Api
from provisioning.drivers.kubernetes.names import CLUSTER, MANAGED_BY
from provisioning.drivers.kubernetes.objects import path, path_of
from provisioning.drivers.kubernetes.queues import Flavor
from provisioning.drivers.kubernetes.reading import Json, labels_of, name_of, part, text
from provisioning.drivers.places import Place

_OURS = f"{MANAGED_BY}=steelyard"


def keep(api: Api, place: Place, limits: Mapping[UUID, Mapping[str, int]]) -> tuple[str, ...]:
    """Two lists where nothing has changed. What is applied is what differs; a queue of nobody stays as it is, empty.

    Returns the queues that somebody else had changed.
    """
    wanted = _keep_flavors(api, place)
    selector = f"{_OURS},{CLUSTER}={place.cluster_id or ''}"
    known = {name_of(queue): queue for queue in api.list(path("ClusterQueue"), labelSelector=selector)}
    drifted = []
    for organization_id, own in sorted(limits.items()):
        queue = queues.cluster_queue(place.cluster_id, organization_id, own, wanted)
        found = known.get(name_of(queue))
        if found is not None and queues.is_as_wanted(found, queue):
            continue
        _write(api, queue, found)
        if found is not None and queues.is_drift(found, queue):
            drifted.append(name_of(queue))
    return tuple(drifted)


def workload_of(api: Api, job: Json) -> Json | None:
    """Kueue's own object of a job; None where it has made none yet."""
    selector = f"{queues.JOB_UID}={text(job, 'metadata', 'uid')}"
    found = api.list(path("Workload", text(job, "metadata", "namespace")), labelSelector=selector)
    return found[0] if found else None


def _keep_flavors(api: Api, place: Place) -> Sequence[Flavor]:
    """Of every product that a node has, or once had: a flavour stays, since something may run in it."""
    known = {name_of(each): each for each in api.list(path("ResourceFlavor"), labelSelector=_OURS)}
    said = [labels_of(node) for node in api.list(path("Node"))]
    said += [part(each, "spec", "nodeLabels") for each in known.values()]
    wanted = queues.flavors(queues.products_in(said), place.topology)
    for each in wanted:
        manifest = queues.flavor(each)
        found = known.get(each.name)
        if found is None or not queues.is_as_wanted(found, manifest):
            api.apply(path_of(manifest), manifest)
    return wanted


def _write(api: Api, queue: Json, found: Json | None) -> None:
    """A cohort that somebody put it into is not ours to apply away: it is taken out by name."""
    api.apply(path_of(queue), queue)
    if text(found, "spec", "cohortName"):
        api.merge(path_of(queue), {"spec": {"cohortName": None}})
