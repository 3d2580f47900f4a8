"""Kueue's queues as manifests, and what Kueue says of a job. Pure.

An organisation has a queue of the cluster, a project one in its namespace. Their quotas are our limits and nothing is
borrowed or preempted there: who may start is decided by our own admission alone, and Kueue says when there is room.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from provisioning.drivers.base import Reason, RunSpec
from provisioning.drivers.kubernetes.accelerators import AMD, NVIDIA, models_by_product
from provisioning.drivers.kubernetes.comparing import says
from provisioning.drivers.kubernetes.names import (
    CLUSTER,
    DOMAIN,
    JOB,
    MANAGED,
    ORGANIZATION,
    RAY,
    form_of,
    namespace_of,
    place_labels,
)
from provisioning.drivers.kubernetes.objects import KUEUE
from provisioning.drivers.kubernetes.reading import Json, at, condition, instant, labels_of, part, rows, text
from provisioning.drivers.places import Place, Topology

OFFER: Final = "kueue"
QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"
PREFERRED: Final = "kueue.x-k8s.io/podset-preferred-topology"
JOB_UID: Final = "kueue.x-k8s.io/job-uid"
TERMS: Final = f"{DOMAIN}/terms"
"""What we last wrote into a queue, as a fingerprint: what differs from it was another's hand."""
LOCAL_QUEUE: Final = "steelyard"
HOST: Final = "kubernetes.io/hostname"
PENDING: Final = "kueue_pending"
SILENT: Final = Reason("kueue_silent", "Kueue has not taken it up yet.")
_SIZES: Final = ("cpu", "memory", "ephemeral-storage")
_NO_LIMIT: Final = {"memory": "1Ei", "ephemeral-storage": "1Ei"}
_MANY: Final = "1G"
_LABELS: Final = {label: resource for resource, label in (NVIDIA, AMD)}


@dataclass(frozen=True, slots=True)
class Flavor:
    """Nodes of one product, or all (`product` empty). Kueue gives those with a topology only to jobs that ask for one,
    and the others only to those that do not."""

    product: str = ""
    label: str = ""
    topology: str = ""

    @property
    def name(self) -> str:
        return "-".join(_slug(word) for word in ("steelyard", self.product or "sizes", self.topology) if word)

    @property
    def resource(self) -> str:
        return _LABELS.get(self.label, "")

    @property
    def model(self) -> str:
        return models_by_product().get(self.product, self.product)


def takes(spec: RunSpec, place: Place) -> bool:
    """What is held back by a word in its own manifest. A workspace is not: somebody waits for it at a screen, and our
    own admission has already said that there is room."""
    return form_of(spec) in (JOB, RAY) and OFFER in place.offers


def queue_of(organization_id: UUID) -> str:
    return f"sy-{organization_id.hex}"


def queued(made: Json, spec: RunSpec, place: Place) -> Json:
    """What is held back until Kueue admits all of it; several pods as near to each other as there is room."""
    labels = labels_of(made) | {QUEUE_NAME: LOCAL_QUEUE}
    run = part(made, "spec")
    if spec.workers > 1 and spec.accelerator is not None and place.topology is not None:
        run = _near(run, nearest(place.topology))
    return made | {"metadata": part(made, "metadata") | {"labels": labels}, "spec": run | {"suspend": True}}


def _near(run: Json, level: str) -> Json:
    """A job has one template, a Ray cluster one of its head and one of each group."""
    if "template" in run:
        return run | {"template": _annotated(part(run, "template"), level)}
    head = part(run, "headGroupSpec")
    groups = [each | {"template": _annotated(part(each, "template"), level)} for each in rows(run, "workerGroupSpecs")]
    near = head | {"template": _annotated(part(head, "template"), level)}
    return run | {"headGroupSpec": near, "workerGroupSpecs": groups}


def _annotated(template: Json, level: str) -> Json:
    inner = part(template, "metadata")
    return template | {"metadata": inner | {"annotations": part(inner, "annotations") | {PREFERRED: level}}}


def nearest(topology: Topology) -> str:
    """The narrowest level that is more than a host: a gang that fits on one host needs no Kueue to get there."""
    wider = [level for level in topology.levels if level != HOST]
    return wider[-1] if wider else HOST


def flavors(products: Iterable[tuple[str, str]], topology: Topology | None) -> tuple[Flavor, ...]:
    """Of (label, product); the one for jobs without accelerators first."""
    plain = [Flavor(product, label) for label, product in sorted(set(products)) if label in _LABELS and product]
    near = [Flavor(each.product, each.label, topology.name) for each in plain] if topology is not None else []
    return (Flavor(), *plain, *near)


def products_in(labels: Iterable[Json]) -> set[tuple[str, str]]:
    """What nodes (or flavours) say by their labels."""
    return {(label, text(each, label)) for each in labels for label in _LABELS if text(each, label)}


def flavor(of: Flavor) -> Json:
    """The same for every organisation, and for every installation that shares the cluster."""
    spec: Json = {"nodeLabels": {of.label: of.product}} if of.product else {}
    if of.topology:
        spec["topologyName"] = of.topology
    return {
        "apiVersion": KUEUE,
        "kind": "ResourceFlavor",
        "metadata": {"name": of.name, "labels": dict(MANAGED)},
        "spec": spec,
    }


def cluster_queue(
    cluster_id: UUID | None, organization_id: UUID, limits: Mapping[str, int], of: Sequence[Flavor]
) -> Json:
    """`limits`: the organisation's own, by our resource names; without one there is as good as no end."""
    never = {
        "withinClusterQueue": "Never",
        "reclaimWithinCohort": "Never",
        "borrowWithinCohort": {"policy": "Never"},
    }
    spec: Json = {
        "namespaceSelector": {
            "matchLabels": {CLUSTER: str(cluster_id or ""), ORGANIZATION: str(organization_id)},
        },
        "queueingStrategy": "BestEffortFIFO",
        "preemption": never,
        "resourceGroups": list(_groups(limits, of)),
    }
    labels = MANAGED | {CLUSTER: str(cluster_id or ""), ORGANIZATION: str(organization_id)}
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {
            "name": queue_of(organization_id),
            "labels": labels,
            "annotations": {TERMS: fingerprint(spec)},
        },
        "spec": spec,
    }


def local_queue(spec: RunSpec, place: Place) -> Json:
    return {
        "apiVersion": KUEUE,
        "kind": "LocalQueue",
        "metadata": {
            "name": LOCAL_QUEUE,
            "namespace": namespace_of(spec.project_id),
            "labels": place_labels(place.cluster_id, spec.organization_id, spec.project_id),
        },
        "spec": {"clusterQueue": queue_of(spec.organization_id)},
    }


def fingerprint(spec: Json) -> str:
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]


def is_as_wanted(found: Json, wanted: Json) -> bool:
    """Whether it says what we want; what it says beside is others'. A cohort would let others borrow."""
    return says(part(found, "spec"), part(wanted, "spec")) and not text(found, "spec", "cohortName")


def is_drift(found: Json, wanted: Json) -> bool:
    """It was as we want it when we last wrote it."""
    return text(found, "metadata", "annotations", TERMS) == text(wanted, "metadata", "annotations", TERMS)


def is_queued(job: Json | None) -> bool:
    return bool(text(labels_of(job), QUEUE_NAME))


def is_held(job: Json | None) -> bool:
    return is_queued(job) and at(job, "spec", "suspend") is True


def why_held(workload: Json | None) -> Reason:
    """`workload`: Kueue's own object of the job. Kueue's words for what it waits for."""
    admitted, reserved = condition(workload, "Admitted"), condition(workload, "QuotaReserved")
    if reserved.get("status") == "True":
        said = text(admitted, "message") or "its quota is reserved, and Kueue's checks go on"
        return Reason(PENDING, f"It waits for Kueue's checks: {said}")
    if not reserved:
        return SILENT
    return Reason(PENDING, f"It waits in Kueue's queue: {text(reserved, 'message') or text(reserved, 'reason')}")


def why_given_up(workload: Json | None) -> Reason | None:
    """Somebody, or a limit of Kueue's own, has put it out of the queue: it would wait for ever."""
    if at(workload, "spec", "active") is not False:
        return None
    said = text(condition(workload, "Evicted"), "message") or "no reason given"
    return Reason("deactivated_in_kueue", f"It was deactivated in Kueue: {said}")


def why_taken_back(job: Json | None, workload: Json | None, *, since: datetime | None) -> Reason | None:
    """Why Kueue has ended a run that began at `since`; None where it was not Kueue."""
    if not is_queued(job):
        return None
    evicted = condition(workload, "Evicted")
    changed = instant(evicted, "lastTransitionTime")
    admitted_again = bool(evicted) and (since is None or changed is None or changed > since)
    if not is_held(job) and evicted.get("status") != "True" and not admitted_again:
        return None
    said = text(evicted, "message") or text(evicted, "reason") or "no reason given"
    return why_given_up(workload) or Reason("preempted_by_kueue", f"Kueue took it back: {said}")


def _groups(limits: Mapping[str, int], of: Sequence[Flavor]) -> Iterator[Json]:
    """Sizes apart from accelerators, each once. With a topology Kueue wants all that a pod asks for of one flavour:
    then there is one group, in which each flavour has the whole of every limit."""
    resources = sorted({each.resource for each in of if each.resource})
    if any(each.topology for each in of):
        yield _group((*_SIZES, *resources), of, limits)
        return
    yield _group(_SIZES, [each for each in of if not each.resource], limits)
    for resource in resources:
        yield _group((resource,), [each for each in of if each.resource == resource], limits)


def _group(resources: Sequence[str], of: Sequence[Flavor], limits: Mapping[str, int]) -> Json:
    quotas = [
        {
            "name": each.name,
            "resources": [{"name": name, "nominalQuota": _nominal(name, each, limits)} for name in resources],
        }
        for each in of
    ]
    return {"coveredResources": list(resources), "flavors": quotas}


def _nominal(resource: str, of: Flavor, limits: Mapping[str, int]) -> str:
    match resource:
        case "cpu":
            return _written(limits.get("vcpus"), resource)
        case "memory":
            return _written(limits.get("memory_gib"), resource, "Gi")
        case "ephemeral-storage":
            return _written(None, resource)
    if resource != of.resource:
        return "0"
    known = [limits[name] for name in ("accelerators", f"accelerators/{of.model}") if name in limits]
    return _written(min(known, default=None), resource)


def _written(limit: int | None, resource: str, unit: str = "") -> str:
    return _NO_LIMIT.get(resource, _MANY) if limit is None else f"{limit}{unit if limit else ''}"


def _slug(word: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")
