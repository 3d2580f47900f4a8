"""Disks of ours on a cluster, and objects of ours whose end hangs on finalizers of others."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from provisioning.drivers.base import Leftover
from provisioning.drivers.kubernetes.client import Api, Refused
from provisioning.drivers.kubernetes.names import CLUSTER, MANAGED_BY, SEEN, VOLUME, WORKLOAD
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.reading import Json, at, instant, labels_of, name_of, part, rows, text, words
from provisioning.inventory.quantities import quantity

OWN: Final = frozenset({SEEN, "foregroundDeletion", "orphan", "kubernetes.io/pvc-protection"})
"""Ours, and those of Kubernetes itself, which hold for a reason and let go by themselves."""
CLAIM: Final = "PersistentVolumeClaim"
_GIB: Final = 1024**3


def leftovers_of(api: Api, cluster_id: UUID | None, runs: Iterable[Json]) -> tuple[Leftover, ...]:
    """`runs`: what there is of workloads, each with its kind."""
    ours = f"{MANAGED_BY}=steelyard,{CLUSTER}={cluster_id or ''},{VOLUME}"
    disks = (_disk(each) for each in api.list(path(CLAIM), labelSelector=ours))
    return (*(disk for disk in disks if disk is not None), *(_hanging(each) for each in runs if _hangs(each)))


def remove(api: Api, leftover: Leftover) -> None:
    """What was made anew under its name stays: it has another uid."""
    kind, namespace, name = leftover.name.split("/")
    where = path(kind, namespace, name)
    found = api.get(where)
    if found is None or text(found, "metadata", "uid") != leftover.uid:
        return
    if leftover.volume_id is not None:
        api.delete(where, preconditions={"uid": leftover.uid})
        return
    kept = [each for each in words(found, "metadata", "finalizers") if each in OWN]
    version = text(found, "metadata", "resourceVersion")
    try:
        api.merge(where, {"metadata": {"uid": leftover.uid, "resourceVersion": version, "finalizers": kept or None}})
    except Refused as refused:
        if refused.status != 409:  # somebody changed it meanwhile: the next look tells
            raise


def _disk(claim: Json) -> Leftover | None:
    """None for one that is going already, and where the labels are not ours."""
    volume_id = _id(claim, VOLUME)
    if volume_id is None or text(claim, "metadata", "deletionTimestamp"):
        return None
    size = quantity(at(claim, "spec", "resources", "requests", "storage") or 0) / _GIB
    return Leftover(
        name=_name(CLAIM, claim),
        uid=text(claim, "metadata", "uid"),
        since=instant(claim, "metadata", "creationTimestamp") or datetime.now(UTC),
        volume_id=volume_id,
        size_gib=-(-size.numerator // size.denominator),
    )


def is_held(thing: Json) -> bool:
    """It was asked to end, and others hold it: so much its outline tells."""
    foreign = set(words(thing, "metadata", "finalizers")) - OWN
    return bool(text(thing, "metadata", "deletionTimestamp") and foreign)


def _hangs(thing: Json) -> bool:
    """And nothing of it runs any more."""
    return is_held(thing) and not any(
        "terminated" not in part(row, "state") for row in rows(thing, "status", "containerStatuses")
    )


def _hanging(thing: Json) -> Leftover:
    return Leftover(
        name=_name(text(thing, "kind"), thing),
        uid=text(thing, "metadata", "uid"),
        since=instant(thing, "metadata", "deletionTimestamp") or datetime.now(UTC),
        workload_id=_id(thing, WORKLOAD),
        finalizers=tuple(sorted(set(words(thing, "metadata", "finalizers")) - OWN)),
    )


def _name(kind: str, thing: Json) -> str:
    return f"{kind}/{text(thing, 'metadata', 'namespace')}/{name_of(thing)}"


def _id(thing: Json, label: str) -> UUID | None:
    try:
        return UUID(text(labels_of(thing), label))
    except ValueError:
        return None
