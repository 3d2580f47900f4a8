"""What of a workload is on the cluster, and the few changes that are made to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from provisioning.drivers.base import RunSpec
from provisioning.drivers.kubernetes import record as records
from provisioning.drivers.kubernetes.arrays import INDEX
from provisioning.drivers.kubernetes.client import Api, Refused
from provisioning.drivers.kubernetes.dasks import COMPONENT, SCHEDULER
from provisioning.drivers.kubernetes.names import (
    DASK,
    JOB,
    KIND,
    RAY,
    SEEN,
    VOLUME,
    WORKLOAD,
    WORKSPACE,
    claim_of,
    form_of,
    name_of_run,
    namespace_of,
    owner_of,
    record_of,
)
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.rays import HEAD, NODE_TYPE
from provisioning.drivers.kubernetes.reading import Json, condition, instant, labels_of, name_of, text, words
from provisioning.drivers.kubernetes.record import Record
from provisioning.drivers.kubernetes.status import is_over

LOST_AFTER: Final = timedelta(minutes=5)
"""As long as Kubernetes itself leaves pods on a node that does not report."""
_HEADS: Final = {RAY: (NODE_TYPE, HEAD), DASK: (COMPONENT, SCHEDULER)}
"""The label by which the pod that serves is known among a cluster's."""
RECORDER = "steelyard-record"
"""A field manager of its own: applying the claim again never takes the record away."""


class Overtaken(Exception):
    """Somebody else changed it since it was read. Look again."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where on the cluster a workload is. `taken`: of an array, the tasks whose end somebody has on record."""

    namespace: str
    workload_id: UUID
    volume_id: UUID
    form: str = WORKSPACE
    taken: frozenset[int] | None = None

    @classmethod
    def of(cls, spec: RunSpec) -> Spot:
        taken = None if spec.array is None else spec.array.taken
        return cls(namespace_of(spec.project_id), spec.workload_id, spec.volume_id, form_of(spec), taken)

    @classmethod
    def in_labels(cls, thing: Json) -> Spot | None:
        """None where the labels are not ours."""
        labels = labels_of(thing)
        try:
            ids = UUID(text(labels, WORKLOAD)), UUID(text(labels, VOLUME))
        except ValueError:
            return None
        return cls(text(thing, "metadata", "namespace"), *ids, form=text(labels, KIND) or WORKSPACE)

    @property
    def runs_command(self) -> bool:
        """Its pods come to an end of their own."""
        return self.form == JOB

    @property
    def set_path(self) -> str:
        return path(owner_of(self.form).kind, self.namespace, name_of_run(self.form, self.workload_id))

    @property
    def companion_path(self) -> str:
        return path("Service", self.namespace, name_of_run(self.form, self.workload_id))

    @property
    def claim_path(self) -> str:
        return path("PersistentVolumeClaim", self.namespace, claim_of(self.volume_id))


@dataclass(frozen=True, slots=True)
class Node:
    """Whether a pod's node still reports; of one that does not, when the control plane last heard of it, and since when
    it has said so."""

    reports: bool
    heard_at: datetime | None = None
    silent_since: datetime | None = None

    def is_lost(self, now: datetime) -> bool:
        """It has been silent for so long that nobody waits for it: what it ran begins elsewhere."""
        return self.silent_since is not None and now - self.silent_since >= LOST_AFTER


@dataclass(frozen=True, slots=True)
class View:
    """All of a workload at one look. `set`: what makes its pods. `record` is what the claim says of it."""

    claim: Json | None
    set: Json | None
    pods: tuple[Json, ...]
    record: Record | None

    @property
    def empty(self) -> bool:
        return self.set is None and not self.pods


def look(api: Api, spot: Spot) -> View:
    """The record is read last: what it says of the others is never older than they are."""
    pods = pods_of(api, spot)
    own = api.get(spot.set_path)
    claim = api.get(spot.claim_path)
    return View(claim, own, pods, records.in_claim(claim, record_of(spot.workload_id)))


def pods_of(api: Api, spot: Spot) -> tuple[Json, ...]:
    """By name: the first worker first."""
    found = api.list(path("Pod", spot.namespace), labelSelector=f"{WORKLOAD}={spot.workload_id}")
    return tuple(sorted(found, key=lambda pod: (number_of(pod), name_of(pod))))


def head_of(pods: Sequence[Json], form: str) -> Json | None:
    """The pod that serves: the only one, or a cluster's head. Of several (one was replaced) the one that is over."""
    if form in _HEADS:
        label, value = _HEADS[form]
        pods = [pod for pod in pods if text(labels_of(pod), label) == value]
    over = [pod for pod in pods if is_over(pod)]
    return (over or [*pods])[-1] if pods else None


def number_of(pod: Json) -> int:
    """Which of its workers a pod is."""
    index = text(labels_of(pod), INDEX)
    return int(index) if index.isdigit() else 0


def write(api: Api, spot: Spot, claim: Json, record: Record) -> None:
    """Raises Overtaken where the claim is not as it was read."""
    change = {
        "metadata": {
            "resourceVersion": text(claim, "metadata", "resourceVersion"),
            "annotations": {record_of(spot.workload_id): records.dumped(record)},
        }
    }
    try:
        if api.merge(spot.claim_path, change, manager=RECORDER) is None:
            raise Overtaken
    except Refused as refused:
        if refused.status == 409:
            raise Overtaken from refused
        raise


def end(api: Api, spot: Spot, view: View, *, all_of_it: bool = True) -> None:
    """Ask it to end. The set leaves last: while it is there something of it may be. `all_of_it`: no other run of the
    workload goes on, which needs the companions."""
    if view.set is not None and not text(view.set, "metadata", "deletionTimestamp"):
        api.delete(spot.set_path, propagationPolicy="Foreground", preconditions={"uid": _uid(view.set)})
    if spot.runs_command and all_of_it:
        api.delete(spot.companion_path)
    for pod in view.pods:
        if not text(pod, "metadata", "deletionTimestamp"):
            api.delete(path("Pod", spot.namespace, name_of(pod)), preconditions={"uid": _uid(pod)})


def let_go(api: Api, spot: Spot, pods: Sequence[Json]) -> None:
    """Take our finalizer from pods whose end is on record."""
    for pod in pods:
        finalizers = words(pod, "metadata", "finalizers")
        if SEEN not in finalizers:
            continue
        others = [finalizer for finalizer in finalizers if finalizer != SEEN]
        version = text(pod, "metadata", "resourceVersion")
        change = {"metadata": {"uid": _uid(pod), "resourceVersion": version, "finalizers": others or None}}
        try:
            api.merge(path("Pod", spot.namespace, name_of(pod)), change)
        except Refused as refused:
            if refused.status != 409:
                raise


def events_of(api: Api, thing: Json) -> list[Json]:
    namespace = text(thing, "metadata", "namespace")
    return api.list(path("Event", namespace), fieldSelector=f"involvedObject.uid={_uid(thing)}")


def node_of(api: Api, pod: Json) -> Node:
    """Asked for only where the pod is not well."""
    name = text(pod, "spec", "nodeName")
    if not name or condition(pod, "Ready").get("status") == "True":
        return Node(reports=True)
    ready = condition(api.get(f"/api/v1/nodes/{name}"), "Ready")
    if ready.get("status") != "Unknown":
        return Node(reports=True)
    heard, since = instant(ready, "lastHeartbeatTime"), instant(ready, "lastTransitionTime")
    return Node(reports=False, heard_at=heard, silent_since=since)


def force(api: Api, spot: Spot, pods: Sequence[Json]) -> None:
    """Take pods from a node that is lost: nobody there confirms that they have ended."""
    for pod in pods:
        where = path("Pod", spot.namespace, name_of(pod))
        api.delete(where, gracePeriodSeconds=0, preconditions={"uid": _uid(pod)})


def _uid(thing: Json) -> str:
    return text(thing, "metadata", "uid")
