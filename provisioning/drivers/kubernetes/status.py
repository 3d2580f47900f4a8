"""What a pod, its set and their events say of a run. Pure: objects of the API in, a verdict out."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from provisioning.drivers.base import Phase, Reason
from provisioning.drivers.kubernetes.capacity import is_spot
from provisioning.drivers.kubernetes.reading import Json, condition, instant, number, part, rows, text

PULLING: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable"})
NO_IMAGE: Final = frozenset({"InvalidImageName", "ErrImageNeverPull"})
WARNINGS: Final = ("FailedCreate", "ProvisioningFailed", "FailedMount", "FailedAttachVolume", "FailedBinding")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`phase` STOPPED or FAILED: the run is over by itself and must be cleared. `over`: nothing of it runs any more."""

    phase: Phase
    started_at: datetime | None = None
    ended_at: datetime | None = None
    ready: bool = False
    served: bool = False
    over: bool = False
    reason: Reason | None = None
    exit_code: int | None = None


def verdict(pod: Json, *, served: bool, node_ready: bool = True) -> Verdict:
    """`served`: this run's server has answered before. `node_ready`: its node still reports."""
    started, over = started_at(pod), is_over(pod)
    end = ended_at(pod) if over else None
    ended = _ended_by_itself(pod, served=served)
    if ended is not None:
        return Verdict(ended[0], started, end, over=over, reason=ended[1], served=served)
    if not node_ready:
        lost = Reason(
            "node_lost", f"Its node {text(pod, 'spec', 'nodeName')} does not report. What it does is unknown."
        )
        return Verdict(Phase.RUNNING if served else Phase.STARTING, started, reason=lost, served=served)
    if text(pod, "metadata", "deletionTimestamp"):
        return Verdict(Phase.STOPPED, started, end, over=over, reason=_taken(pod), served=served)
    return _living(pod, started, served=served)


def verdict_of_command(pod: Json, *, node_ready: bool = True) -> Verdict:
    """Of a pod that runs a command to its end: SUCCEEDED or FAILED by its exit code."""
    code = exit_code_of(pod)
    if code is None or was_evicted(pod):
        return verdict(pod, served=True, node_ready=node_ready)
    started, end = started_at(pod), ended_at(pod)
    leaving = bool(text(pod, "metadata", "deletionTimestamp"))
    if code == 0:
        return Verdict(Phase.SUCCEEDED, started, end, over=True, exit_code=0)
    if leaving:  # it was asked to end, and has
        return Verdict(Phase.STOPPED, started, end, over=True, reason=_taken(pod))
    if any(text(status, "state", "terminated", "reason") == "OOMKilled" for status in _containers(pod)):
        reason = Reason("oom_killed", f"It needed more memory than its shape has, and was killed (exit code {code}).")
    else:
        reason = Reason("command_failed", f"The command failed ({_how(code)}).")
    return Verdict(Phase.FAILED, started, end, over=True, reason=reason, exit_code=code)


def together(verdicts: Sequence[Verdict], *, expected: int) -> Verdict:
    """Of all workers of one attempt: the first that failed or was taken away ends it, the last that is done ends it
    well. Its capacity is bound when that of every worker is."""
    starts = [each.started_at for each in verdicts if each.started_at is not None]
    started = max(starts) if len(starts) >= expected else None
    over = all(each.over for each in verdicts)
    for phase in (Phase.FAILED, Phase.STOPPED):
        ended = [each for each in verdicts if each.phase is phase]
        if ended:
            first = min(ended, key=lambda each: (each.ended_at is None, each.ended_at or each.started_at, 0))
            return replace(first, started_at=max(starts, default=None), over=over)
    done = [each for each in verdicts if each.phase is Phase.SUCCEEDED]
    if len(done) >= expected:
        return replace(done[0], started_at=started, over=over)
    waiting = [each for each in verdicts if each.phase is Phase.STARTING]
    if waiting or len(verdicts) < expected:
        reason = next((each.reason for each in waiting if each.reason is not None), None)
        return Verdict(Phase.STARTING, started, reason=reason)
    unsure = next((each.reason for each in verdicts if each.reason is not None), None)
    return Verdict(Phase.RUNNING, started, ready=unsure is None, served=True, reason=unsure)


def with_others(head: Verdict, others: Sequence[Verdict], *, expected: int) -> Verdict:
    """A cluster of so many nodes: its head, and what is missing of the others. It is bound when all have once been."""
    starts = [each.started_at for each in (head, *others) if each.started_at is not None]
    started = max(starts) if len(starts) >= expected else None
    up = 1 + sum(each.phase is Phase.RUNNING for each in others)
    reason = head.reason
    if reason is None and up < expected:
        why = next((each.reason.message for each in others if each.reason is not None), "the rest is starting")
        reason = Reason("nodes_missing", f"{up} of {expected} nodes are up: {why}.")
    return replace(head, started_at=started, reason=reason)


def member(pod: Json) -> Verdict:
    """Of a pod beside the head: one that is ready is up, however often it began again before."""
    ready = condition(pod, "Ready").get("status") == "True" and not text(pod, "metadata", "deletionTimestamp")
    return Verdict(Phase.RUNNING, started_at(pod), ready=True) if ready else verdict(pod, served=True)


def nodes_wanted(own: Json | None) -> int:
    """How many pods what makes them is to make, its head among them."""
    groups = sum(number(group, "replicas") or 0 for group in rows(own, "spec", "workerGroupSpecs"))
    return 1 + groups + (number(own, "spec", "worker", "replicas") or 0)


def exit_code_of(pod: Json) -> int | None:
    """Of its container, where it has ended."""
    ends = [part(status, "state", "terminated") for status in _containers(pod)]
    return number(ends[0], "exitCode") if ends and ends[0] else None


def _how(code: int) -> str:
    if code > 128:
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(code - 128).name}, exit code {code}"
    return f"exit code {code}"


def started_at(pod: Json) -> datetime | None:
    """When the scheduler bound its capacity."""
    scheduled = condition(pod, "PodScheduled")
    return instant(scheduled, "lastTransitionTime") if scheduled.get("status") == "True" else None


def is_over(pod: Json) -> bool:
    """Nothing of it runs: it has come to its end, or its node has let it go and it waits for us alone."""
    if text(pod, "status", "phase") in ("Failed", "Succeeded"):
        return True
    gone = bool(text(pod, "metadata", "deletionTimestamp"))
    return gone and (number(pod, "metadata", "deletionGracePeriodSeconds") == 0 or not text(pod, "spec", "nodeName"))


def ended_at(pod: Json) -> datetime | None:
    """When the last of its containers ended, where its node has said so."""
    ends = [instant(status, "state", "terminated", "finishedAt") for status in _containers(pod)]
    return None if not ends or None in ends else max(end for end in ends if end is not None)


def alive_at(pod: Json) -> datetime | None:
    """When somebody asked it to end who could see that it lived."""
    unseen = text(condition(pod, "DisruptionTarget"), "reason") in ("DeletionByTaintManager", "DeletionByPodGC")
    at_once = number(pod, "metadata", "deletionGracePeriodSeconds") == 0
    return instant(pod, "metadata", "deletionTimestamp") if at_once and not unseen else None


def without_pod(events: Sequence[Json]) -> Reason | None:
    """Why the set has made no pod: the cluster's own last words."""
    warning = latest(events, "FailedCreate")
    return Reason("pod_refused", f"The cluster refuses its pod: {warning}") if warning else None


def with_volume(claim: Json | None, events: Sequence[Json]) -> Reason | None:
    """Why its volume is not there, where it is waited for."""
    if text(claim, "status", "phase") == "Bound":
        return None
    said = latest(events, *WARNINGS[1:]) or "no storage has been bound to it yet"
    return Reason("volume_unbound", f"Its volume is not ready: {said}")


def latest(events: Sequence[Json], *reasons: str) -> str:
    """The message of the newest event of these reasons."""
    found = [event for event in events if text(event, "reason") in reasons]
    return text(max(found, key=_happened, default={}), "message").strip()


def waits_for_volume(reason: Reason | None) -> bool:
    """The scheduler speaks of persistent volumes, and of PersistentVolumeClaims."""
    said = reason.message if reason is not None and reason.code in ("unschedulable", "spot_dry") else ""
    return "persistentvolume" in said.replace(" ", "").lower()


def _happened(event: Json) -> str:
    return text(event, "lastTimestamp") or text(event, "eventTime") or text(event, "metadata", "creationTimestamp")


def _containers(pod: Json) -> list[Json]:
    return rows(pod, "status", "containerStatuses")


def _ended_by_itself(pod: Json, *, served: bool) -> tuple[Phase, Reason] | None:
    """The server ended, or its node put it out. A container that was started again has ended too: that is no start of
    ours."""
    if was_evicted(pod):
        return Phase.STOPPED, _taken(pod)
    for status in _containers(pod):
        waiting = text(status, "state", "waiting", "reason")
        if waiting in NO_IMAGE:
            return Phase.FAILED, Reason("image_not_found", _image_words(status))
        end = part(status, "state", "terminated") or part(status, "lastState", "terminated")
        if end and not text(pod, "metadata", "deletionTimestamp"):
            return _exit(end, served=served)
    if text(pod, "status", "phase") in ("Failed", "Succeeded"):
        return Phase.FAILED, Reason("pod_failed", text(pod, "status", "message") or "Its pod failed.")
    return None


def _exit(end: Json, *, served: bool) -> tuple[Phase, Reason]:
    code = number(end, "exitCode")
    if text(end, "reason") == "OOMKilled":
        return Phase.FAILED, Reason("oom_killed", "It needed more memory than its shape has, and was killed.")
    if not served:
        return Phase.FAILED, Reason("start_failed", f"The server ended before it answered (exit code {code}).")
    if code == 0:
        return Phase.STOPPED, Reason("ended_by_itself", "The server was shut down from inside.")
    return Phase.FAILED, Reason("server_failed", f"The server ended (exit code {code}).")


def was_evicted(pod: Json) -> bool:
    disrupted = condition(pod, "DisruptionTarget").get("status") == "True"
    failed = text(pod, "status", "phase") == "Failed"
    return disrupted or (failed and text(pod, "status", "reason") in ("Evicted", "Terminated", "NodeShutdown"))


def _taken(pod: Json) -> Reason:
    """Somebody on the cluster ended it: a node in need, a drain, the scheduler for one of higher priority, a person."""
    target = condition(pod, "DisruptionTarget")
    said = text(pod, "status", "message") or text(target, "message")
    if not was_evicted(pod):
        return Reason("removed_on_cluster", "Somebody removed its pod on the cluster.")
    if is_spot(pod):
        why = said or text(target, "reason") or "no reason given"
        return Reason("spot_interrupted", f"Its spot capacity was taken back: {why}")
    return Reason("evicted", f"The cluster took it off its node: {said or text(target, 'reason') or 'no reason given'}")


def _living(pod: Json, started: datetime | None, *, served: bool) -> Verdict:
    if started is None:
        scheduled = condition(pod, "PodScheduled")
        if scheduled.get("status") != "False":
            return Verdict(Phase.STARTING)
        said = text(scheduled, "message")
        if is_spot(pod):
            return Verdict(Phase.STARTING, reason=Reason("spot_dry", f"It waits for spot capacity: {said}"))
        return Verdict(Phase.STARTING, reason=Reason("unschedulable", said))
    answered = any(status.get("started") is True for status in _containers(pod))
    ready = condition(pod, "Ready").get("status") == "True"
    if answered or ready:
        return Verdict(Phase.RUNNING, started, ready=ready, served=served or ready)
    return Verdict(Phase.STARTING, started, reason=_waiting(pod), served=served)


def _waiting(pod: Json) -> Reason | None:
    for status in _containers(pod):
        why = text(status, "state", "waiting", "reason")
        if why in PULLING:
            return Reason("image_pull_failed", _image_words(status))
        if why not in ("", "ContainerCreating", "PodInitializing"):
            said = text(status, "state", "waiting", "message") or why
            return Reason("container_not_created", f"Its container cannot be created: {said}")
    return None


def _image_words(status: Json) -> str:
    said = text(status, "state", "waiting", "message") or text(status, "state", "waiting", "reason")
    return f"The image {text(status, 'image')} cannot be had: {said}"
