"""An array on a cluster: one Indexed Job with an index for each task, which Kubernetes repeats by the job's rule. Pure.

A shell in the image turns the index into the task's variables, since a pod's template is the same for all of them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from provisioning.drivers.base import Phase, Reason, TaskSeen
from provisioning.drivers.jobs import ArrayRun
from provisioning.drivers.kubernetes import status
from provisioning.drivers.kubernetes.names import DOMAIN
from provisioning.drivers.kubernetes.pods import CONTAINER
from provisioning.drivers.kubernetes.reading import Json, at, condition, labels_of, text
from provisioning.drivers.kubernetes.status import Verdict

TASKS: Final = f"{DOMAIN}/tasks"
"""Of a job and of its pods: the tasks that it runs, in the order of its indexes."""
INDEX: Final = "batch.kubernetes.io/job-completion-index"
"""The label in which Kubernetes tells a pod its index."""
GONE: Final = Reason("removed_on_cluster", "Somebody removed it on the cluster.")
_ENDED: Final = (Phase.SUCCEEDED, Phase.FAILED, Phase.STOPPED)


def command(run: ArrayRun, words: Sequence[str]) -> tuple[str, ...]:
    """The task's variables, then the command itself in the shell's place."""
    return ("sh", "-c", "\n".join(_script(run)), "sh", *words)


def rules(run: ArrayRun, *, at_once: int) -> Json:
    """What of a job's spec is an array's. An interruption is no failure, whoever interrupts."""
    interrupted: Json = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    fatal: Json = {
        "action": "FailIndex",
        "onExitCodes": {"containerName": CONTAINER, "operator": "In", "values": sorted(run.fatal_codes)},
    }
    return {
        "completions": len(run.tasks),
        "parallelism": min(at_once, len(run.tasks)),
        "completionMode": "Indexed",
        "backoffLimitPerIndex": run.retries,
        **({"maxFailedIndexes": 0} if run.stops_at_failure else {}),
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": {"rules": [interrupted, *([fatal] if run.fatal_codes else [])]},
    }


def marks(run: ArrayRun) -> dict[str, str]:
    return {TASKS: ",".join(map(str, run.tasks))}


def is_array(job: Json | None, pods: Sequence[Json]) -> bool:
    return any(_mark(thing) for thing in (job, *pods))


def task_of(pod: Json) -> int | None:
    """Which task a pod runs."""
    tasks, index = _mark(pod).split(","), text(labels_of(pod), INDEX)
    return int(tasks[int(index)]) if index.isdigit() and int(index) < len(tasks) and tasks[int(index)] else None


def seen(job: Json | None, pods: Sequence[Json]) -> tuple[TaskSeen, ...]:
    """Every task that has, or had, a pod."""
    tries: dict[int, list[Json]] = {}
    for pod in sorted(pods, key=lambda pod: text(pod, "metadata", "creationTimestamp")):
        task = task_of(pod)
        if task is not None:
            tries.setdefault(task, []).append(pod)
    tasks = [int(word) for word in _mark(job).split(",") if word]
    failed = {tasks[index] for index in indexes(text(job, "status", "failedIndexes")) if index < len(tasks)}
    over = _is_over(job)
    return tuple(_task(task, tries[task], failed=task in failed, over=over) for task in sorted(tries))


def verdict(job: Json | None, pods: Sequence[Json], *, taken: frozenset[int] | None) -> Verdict:
    """Of the whole run. `taken`: the tasks whose end is on record; None: nobody waits for that."""
    told, over = seen(job, pods), all(status.is_over(pod) for pod in pods)
    starts = [each.started_at for each in told if each.started_at is not None]
    started = min(starts, default=None)
    if job is None or at(job, "spec", "suspend") is True:
        return Verdict(Phase.STOPPED, started, over=over, reason=GONE)
    ended = {each.index for each in told if each.phase in (Phase.SUCCEEDED, Phase.FAILED)}
    if _is_over(job) and over and (taken is None or ended <= taken):
        return _over(job, told, len(_mark(job).split(",")))
    if started is None:
        reasons = (status.verdict(pod, served=False).reason for pod in pods)
        return Verdict(Phase.STARTING, reason=next((reason for reason in reasons if reason is not None), None))
    return Verdict(Phase.RUNNING, started, ready=True, served=True)


def superseded(pods: Sequence[Json]) -> list[Json]:
    """Pods that were taken off their nodes, and whose tasks begin again: they are done with."""
    return [pod for pod in pods if text(pod, "metadata", "deletionTimestamp") and status.is_over(pod)]


def indexes(written: str) -> Iterator[int]:
    """ "1,3-5" as Kubernetes writes them."""
    for word in written.split(","):
        first, _, last = word.partition("-")
        if first.isdigit():
            yield from range(int(first), int(last if last.isdigit() else first) + 1)


def _over(job: Json, told: Sequence[TaskSeen], count: int) -> Verdict:
    starts = [each.started_at for each in told if each.started_at is not None]
    ends = [each.ended_at for each in told if each.ended_at is not None]
    started, ended = min(starts, default=None), max(ends, default=None)
    if condition(job, "Complete").get("status") == "True":
        return Verdict(Phase.SUCCEEDED, started, ended, over=True, exit_code=0)
    failed = sorted(
        (each for each in told if each.phase is Phase.FAILED),
        key=lambda each: (each.ended_at is None, each.ended_at or each.started_at, 0),
    )
    if not failed:
        said = text(condition(job, "Failed"), "message") or "no reason given"
        return Verdict(Phase.STOPPED, started, ended, over=True, reason=Reason("removed_on_cluster", said))
    reason = Reason("tasks_failed", f"{len(failed)} of {count} tasks failed.")
    return Verdict(Phase.FAILED, started, ended, over=True, reason=reason, exit_code=failed[0].exit_code)


def _task(index: int, tries: Sequence[Json], *, failed: bool, over: bool) -> TaskSeen:
    last = next((pod for pod in tries if text(pod, "status", "phase") == "Succeeded"), tries[-1])
    failures = [pod for pod in tries if text(pod, "status", "phase") == "Failed" and not status.was_evicted(pod)]
    starts = [start for pod in tries if (start := status.started_at(pod))]
    phase, end, code = Phase.STARTING, None, None
    if text(last, "status", "phase") == "Succeeded":
        phase, end, code = Phase.SUCCEEDED, status.ended_at(last), 0
    elif failed and failures:
        phase, end, code = Phase.FAILED, status.ended_at(failures[-1]), status.exit_code_of(failures[-1])
    elif over:
        phase, end = Phase.STOPPED, status.ended_at(last)
    elif status.started_at(last) and not status.is_over(last):
        phase = Phase.RUNNING
    return TaskSeen(index, phase, min(starts, default=None), end, code, len(failures))


def _is_over(job: Json | None) -> bool:
    return any(condition(job, word).get("status") == "True" for word in ("Complete", "Failed"))


def _mark(thing: Json | None) -> str:
    return text(thing, "metadata", "annotations", TASKS)


def _script(run: ArrayRun) -> Iterator[str]:
    yield "task=$JOB_COMPLETION_INDEX"
    if run.tasks != tuple(range(len(run.tasks))):
        yield _chosen("$task", {str(index): f"task={task}" for index, task in enumerate(run.tasks)})
    yield "export STEELYARD_TASK_INDEX=$task JOB_COMPLETION_INDEX=$task"
    every = 1
    for name, values in reversed(run.sweep):
        turns = {str(turn): f"export {name}={shlex.quote(value)}" for turn, value in enumerate(values)}
        yield _chosen(f"$((task / {every} % {len(values)}))", turns)
        every *= len(values)
    yield 'unset task; exec "$@"'


def _chosen(word: str, cases: Mapping[str, str]) -> str:
    return f"case {word} in {' '.join(f'{key}) {act};;' for key, act in cases.items())} esac"
