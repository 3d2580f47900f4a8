"""Makes the record true: what is seen of a run is noted, what has ended is cleared, and only then called ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from provisioning.drivers.base import Observation, Phase, Reason
from provisioning.drivers.kubernetes import arrays, logs, queueing, queues, status
from provisioning.drivers.kubernetes.client import Api
from provisioning.drivers.kubernetes.marks import mark_of
from provisioning.drivers.kubernetes.names import INCARNATION
from provisioning.drivers.kubernetes.reading import Json, condition, labels_of, number, text
from provisioning.drivers.kubernetes.record import Record, Stage
from provisioning.drivers.kubernetes.status import Verdict
from provisioning.drivers.kubernetes.view import (
    Node,
    Overtaken,
    Spot,
    View,
    end,
    events_of,
    force,
    head_of,
    let_go,
    node_of,
    pods_of,
    write,
)

GONE: Final = Reason("removed_on_cluster", "Somebody removed its pod on the cluster.")
LOST: Final = Reason("node_lost", "A node has not reported for five minutes: all of it begins again elsewhere.")
OVER: Final = (Phase.STOPPED, Phase.SUCCEEDED, Phase.FAILED)
LINES_OF_A_JOB: Final = 500
MOST_OF_A_JOB: Final = 60_000


@dataclass(frozen=True, slots=True)
class Settled:
    """What is so. `record` as it was when this was read; `clear`: nothing is left, and the record says so."""

    observation: Observation
    record: Record | None = None
    clear: bool = False


def settle(api: Api, spot: Spot, view: View, *, now: datetime) -> Settled:
    """One step towards the truth. Raises Overtaken where another one made it first."""
    record = view.record
    if record is None or view.claim is None:
        return Settled(Observation(Phase.ABSENT), clear=view.empty)
    if record.stage is Stage.ENDED:
        finish(api, spot, view)
        return Settled(record.observation() if view.empty else _still_ending(record), record, clear=view.empty)
    pods = [pod for pod in view.pods if _run_of(pod) == record.incarnation]
    if record.stage is Stage.ENDING:
        return _ending(api, spot, view, pods, now=now)
    finish(api, spot, _of_other_runs(view, record.incarnation), all_of_it=False)
    if not pods:
        return _without_pod(api, spot, view)
    return _with_pods(api, spot, view, pods, now=now)


def _of_other_runs(view: View, incarnation: str) -> View:
    """What somebody made who came too late: it is no part of this run."""
    own = view.set if view.set is not None and _run_of(view.set) != incarnation else None
    return View(None, own, tuple(pod for pod in view.pods if _run_of(pod) != incarnation), None)


def _run_of(thing: Json) -> str:
    return text(labels_of(thing), INCARNATION)


def finish(api: Api, spot: Spot, view: View, *, all_of_it: bool = True) -> None:
    """Clear what no record stands for, or what one left behind."""
    end(api, spot, view, all_of_it=all_of_it)
    let_go(api, spot, [pod for pod in view.pods if status.is_over(pod)])


def _without_pod(api: Api, spot: Spot, view: View) -> Settled:
    record, claim = view.record, view.claim
    assert record is not None
    assert claim is not None
    if record.pod:  # it had one: look for it once more, after the record was read
        if any(_run_of(pod) == record.incarnation for pod in pods_of(api, spot)):
            raise Overtaken
        return _over(api, spot, view, Verdict(Phase.STOPPED, over=True, reason=GONE), alive_at=record.alive_at)
    if view.set is not None and queues.is_held(view.set):
        return _held(api, spot, view, view.set)
    reason = status.without_pod(events_of(api, view.set)) if view.set is not None else None
    return Settled(Observation(Phase.STARTING, reason=reason, incarnation=record.incarnation), record)


def _held(api: Api, spot: Spot, view: View, job: Json) -> Settled:
    """It waits for Kueue, unless Kueue will never have it."""
    record = view.record
    assert record is not None
    workload = queueing.workload_of(api, job)
    given_up = queues.why_given_up(workload)
    if given_up is not None:
        return _over(api, spot, view, Verdict(Phase.STOPPED, over=True, reason=given_up), alive_at=None)
    reason = queues.why_held(workload)
    return Settled(Observation(Phase.STARTING, reason=reason, incarnation=record.incarnation), record)


def _with_pods(api: Api, spot: Spot, view: View, pods: list[Json], *, now: datetime) -> Settled:
    record, claim = view.record, view.claim
    assert record is not None
    assert claim is not None
    seen, node = _seen(api, spot, view, pods)
    if node.is_lost(now) and seen.phase not in OVER and spot.runs_command:
        seen = replace(seen, phase=Phase.STOPPED, reason=LOST)
    alive_at = record.alive_at if seen.over else now if node.reports else node.heard_at
    is_array = arrays.is_array(view.set, pods)
    if is_array and seen.phase not in OVER:
        let_go(api, spot, arrays.superseded(pods))
    if seen.phase in OVER:
        return _over(api, spot, view, seen, alive_at=alive_at)
    noted = replace(
        record,
        pod=record.pod or text(pods[-1], "metadata", "uid"),
        started_at=record.started_at or seen.started_at,
        served=record.served or seen.served,
    )
    if noted != record:
        write(api, spot, claim, replace(noted, alive_at=alive_at))
    reason = seen.reason
    if status.waits_for_volume(reason):
        reason = status.with_volume(claim, events_of(api, claim)) or reason
    observation = Observation(
        phase=seen.phase,
        started_at=noted.started_at,
        ready=seen.ready,
        reason=reason,
        incarnation=noted.incarnation,
        tasks=arrays.seen(view.set, pods) if is_array else (),
    )
    lists = not is_array  # of an array the job itself says more than its pods
    if lists and noted == record and seen.ready and reason is None and _all_well(view, pods):
        observation = replace(observation, mark=mark_of(view.pods, view.set, claim))
    return Settled(observation, record)


def _all_well(view: View, pods: list[Json]) -> bool:
    """Nothing but what the view holds was asked to know how it is: no node, no event, nothing of another run."""
    return len(pods) == len(view.pods) and all(
        status.is_over(pod) or condition(pod, "Ready").get("status") == "True" for pod in pods
    )


def _over(api: Api, spot: Spot, view: View, seen: Verdict, *, alive_at: datetime | None) -> Settled:
    """It ended unasked: note why before anything of it is cleared."""
    record, claim = view.record, view.claim
    assert record is not None
    assert claim is not None
    if seen.phase is Phase.STOPPED and queues.is_queued(view.set):
        seen = replace(seen, reason=_taken_back(api, view) or seen.reason)
    ending = replace(
        record,
        stage=Stage.ENDING,
        started_at=record.started_at or seen.started_at,
        alive_at=alive_at,
        outcome=seen.phase,
        reason=seen.reason,
        tail=_tail(api, spot, view, seen),
        exit_code=seen.exit_code,
    )
    write(api, spot, claim, ending)
    end(api, spot, view)
    return Settled(_still_ending(ending), ending)


def _taken_back(api: Api, view: View) -> Reason | None:
    assert view.set is not None
    assert view.record is not None
    return queues.why_taken_back(view.set, queueing.workload_of(api, view.set), since=view.record.started_at)


def _ending(api: Api, spot: Spot, view: View, pods: list[Json], *, now: datetime) -> Settled:
    record, claim = view.record, view.claim
    assert record is not None
    assert claim is not None
    end(api, spot, view)
    left = [pod for pod in view.pods if not status.is_over(pod)]
    if left and spot.runs_command:
        force(api, spot, [pod for pod in left if node_of(api, pod).is_lost(now)])
    if left:
        return Settled(_still_ending(record), record)
    ended = _with_end(record, pods, now=now)
    if view.empty:
        ended = replace(ended, stage=Stage.ENDED)
    if ended != record:
        write(api, spot, claim, ended)
    let_go(api, spot, view.pods)
    if not view.empty:
        return Settled(_still_ending(record), record)
    return Settled(ended.observation(), ended)


def _with_end(record: Record, pods: list[Json], *, now: datetime) -> Record:
    """The end of the last process where its node told it, else the last instant at which it certainly lived."""
    starts = [at for pod in pods if (at := status.started_at(pod))]
    started = record.started_at or (max(starts) if starts and len(starts) == len(pods) else None)
    if started is None or record.ended_at is not None:
        return replace(record, started_at=started)
    told = [at for pod in pods if (at := status.ended_at(pod))]
    lost = record.reason is not None and record.reason.code == LOST.code  # nobody saw what we ended by force
    certain = [at for pod in pods if not lost and (at := status.alive_at(pod))]
    last = max(told) if told else max([*certain, record.alive_at or started])
    return replace(record, started_at=started, ended_at=max(started, min(last, now)))


def _still_ending(record: Record) -> Observation:
    return Observation(
        Phase.STOPPING, started_at=record.started_at, reason=record.reason, incarnation=record.incarnation
    )


def _seen(api: Api, spot: Spot, view: View, pods: list[Json]) -> tuple[Verdict, Node]:
    """Of all its pods together. The node is that of the first whose node does not report, else any."""
    record = view.record
    assert record is not None
    if not spot.runs_command:
        return _seen_of_server(api, spot, view, pods)
    if arrays.is_array(view.set, pods):
        return arrays.verdict(view.set, pods, taken=spot.taken), Node(reports=True)
    nodes = [Node(reports=True) if status.is_over(pod) else node_of(api, pod) for pod in pods]
    verdicts = [status.verdict_of_command(pod, node_ready=node.reports) for pod, node in zip(pods, nodes, strict=True)]
    expected = number(view.set, "spec", "parallelism") or len(pods)
    silent = next((node for node in nodes if not node.reports), nodes[0])
    return status.together(verdicts, expected=expected), silent


def _seen_of_server(api: Api, spot: Spot, view: View, pods: list[Json]) -> tuple[Verdict, Node]:
    """Of what serves: a cluster lives and ends with its head, and is bound when all its nodes were."""
    record = view.record
    assert record is not None
    head = head_of(pods, spot.form)
    if head is None:
        return Verdict(Phase.STARTING), Node(reports=True)
    node = node_of(api, head)
    seen = status.verdict(head, served=record.served, node_ready=node.reports)
    expected = status.nodes_wanted(view.set)
    if expected == 1 or seen.phase in OVER:
        return seen, node
    others = [status.member(pod) for pod in pods if pod is not head]
    return status.with_others(seen, others, expected=expected), node


def _tail(api: Api, spot: Spot, view: View, seen: Verdict) -> tuple[str, ...]:
    """The last words of who failed; of a job that is done, those of its first worker."""
    if not view.pods or seen.phase not in (Phase.FAILED, Phase.SUCCEEDED):
        return ()
    if not spot.runs_command:
        head = head_of(view.pods, spot.form)
        return logs.last_words(api, head) if head is not None else ()
    speaker = next((pod for pod in view.pods if status.exit_code_of(pod) == seen.exit_code), view.pods[0])
    lines = logs.last_words(api, speaker, lines=LINES_OF_A_JOB)
    while sum(map(len, lines)) > MOST_OF_A_JOB:
        lines = lines[len(lines) // 4 + 1 :]
    return lines
