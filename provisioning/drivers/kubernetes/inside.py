"""Pods of a workload as people look at them, what they use, and the cluster's events of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from provisioning.drivers.inside import Happening, PodSeen, PodsSeen
from provisioning.drivers.kubernetes import status
from provisioning.drivers.kubernetes.arrays import INDEX, task_of
from provisioning.drivers.kubernetes.client import Api, Forbidden
from provisioning.drivers.kubernetes.names import JOB, WORKLOAD, name_of_run
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.rays import HEAD, NODE_TYPE
from provisioning.drivers.kubernetes.reading import Json, instant, labels_of, name_of, number, part, rows, text
from provisioning.drivers.kubernetes.view import Spot, pods_of
from provisioning.inventory.quantities import thousandths, whole

METRICS: Final = "/apis/metrics.k8s.io/v1beta1"
NOT_INSTALLED: Final = "This cluster has no metrics server: what pods use is not measured."
NOT_ALLOWED: Final = "The platform may not read this cluster's metrics: its account lacks that right."
MOST_TOLD: Final = 200


def pods(api: Api, spot: Spot) -> PodsSeen:
    found = pods_of(api, spot)
    usage, unmeasured = _usage(api, spot)
    return PodsSeen(tuple(seen(pod, spot.form, usage.get(name_of(pod))) for pod in found), unmeasured)


def seen(pod: Json, form: str, usage: tuple[int, int] | None = None) -> PodSeen:
    """One pod. Its state is the container's, which says more than the pod's phase."""
    state, reason = _state(pod)
    cpu, memory = usage or (None, None)
    return PodSeen(
        name=name_of(pod),
        part=_part(pod, form),
        node=text(pod, "spec", "nodeName"),
        state=state,
        reason=reason,
        restarts=sum(number(row, "restartCount") for row in rows(pod, "status", "containerStatuses")),
        started_at=status.started_at(pod),
        cpu_milli=cpu,
        memory_bytes=memory,
    )


def happenings(api: Api, spot: Spot, names: Iterable[str]) -> tuple[Happening, ...]:
    """The newest first, of the run's objects and of the disk; `names`: what they are called, or begin with."""
    known = tuple(names)
    events = api.list(path("Event", spot.namespace))
    mine = [event for event in events if text(event, "involvedObject", "name").startswith(known)]
    told = [found for event in mine if (found := _happening(event)) is not None]
    return tuple(sorted(told, key=lambda each: each.at, reverse=True)[:MOST_TOLD])


def names_of(spot: Spot, claim: str) -> tuple[str, ...]:
    return (name_of_run(spot.form, spot.workload_id), claim)


def _happening(event: Json) -> Happening | None:
    told = (("lastTimestamp",), ("eventTime",), ("metadata", "creationTimestamp"))
    at = next((found for where in told if (found := instant(event, *where)) is not None), None)
    if at is None:
        return None
    about = part(event, "involvedObject")
    return Happening(
        uid=text(event, "metadata", "uid"),
        at=at,
        about=f"{text(about, 'kind')} {text(about, 'name')}",
        reason=text(event, "reason"),
        message=text(event, "message").strip(),
        warning=text(event, "type") == "Warning",
        count=max(number(event, "count"), 1),
    )


def _part(pod: Json, form: str) -> str:
    task, index = task_of(pod), text(labels_of(pod), INDEX)
    if task is not None:
        return f"task {task}"
    if form == JOB and index:
        return f"worker {index}"
    kind = text(labels_of(pod), NODE_TYPE)
    return "head" if kind == HEAD else kind


def _state(pod: Json) -> tuple[str, str]:
    for row in rows(pod, "status", "containerStatuses"):
        ended, waits = part(row, "state", "terminated"), part(row, "state", "waiting")
        if ended:
            code = number(ended, "exitCode")
            why = text(pod, "status", "message") or text(ended, "reason")
            return ("done" if code == 0 else "failed"), f"exit code {code}" + (f": {why}" if code and why else "")
        if waits and text(pod, "metadata", "deletionTimestamp") == "":
            return "waiting", text(waits, "message") or text(waits, "reason")
    if text(pod, "metadata", "deletionTimestamp"):
        return "ending", text(pod, "status", "message")
    verdict = status.verdict(pod, served=False)
    if text(pod, "status", "phase") == "Running":
        return "running", verdict.reason.message if verdict.reason else ""
    return "waiting", verdict.reason.message if verdict.reason else text(pod, "status", "message")


def _usage(api: Api, spot: Spot) -> tuple[Mapping[str, tuple[int, int]], str]:
    """Thousandths of a processor and bytes, by pod; and why there is none."""
    try:
        where = f"{METRICS}/namespaces/{spot.namespace}/pods"
        told = api.get(where, labelSelector=f"{WORKLOAD}={spot.workload_id}")
    except Forbidden:
        return {}, NOT_ALLOWED
    if told is None:
        return {}, NOT_INSTALLED
    return {name_of(row): _sum(rows(row, "containers")) for row in rows(told, "items")}, ""


def _sum(containers: list[Json]) -> tuple[int, int]:
    cpu = memory = 0
    for row in containers:
        try:
            cpu += thousandths(part(row, "usage").get("cpu"))
            memory += whole(part(row, "usage").get("memory"))
        except ValueError:
            continue
    return cpu, memory
