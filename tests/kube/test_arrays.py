"""Arrays on a real control plane: the Job controller tries each task again, and says which failed."""

from __future__ import annotations

from dataclasses import replace

from provisioning.drivers.base import Observation, Phase, RunSpec, TaskSeen
from provisioning.drivers.jobs import ArrayRun
from provisioning.drivers.kubernetes import arrays
from provisioning.drivers.kubernetes.reading import Json, name_of, text
from provisioning.drivers.kubernetes.status import is_over
from tests.drivers.rig import SETTLED, a_spec, until
from tests.kube.rig import PATIENCE_S, KubeRig

SWEEP = (("LR", ("0.1", "0.01")), ("SEED", ("1", "2")))
RUN = ArrayRun(tasks=(0, 1, 2, 3), count=4, sweep=SWEEP)


def an_array(run: ArrayRun, *, at_once: int = 2) -> RunSpec:
    return a_spec(kind="job", command=("python", "train.py"), workers=at_once, array=run)


def running(rig: KubeRig, spec: RunSpec, *tasks: int) -> dict[int, Json]:
    """The pods of these tasks, once they run."""

    def found() -> dict[int, Json]:
        pods = {arrays.task_of(pod): pod for pod in rig.pods(spec) if text(pod, "status", "phase") == "Running"}
        return {task: pods[task] for task in tasks if task in pods}

    return until(found, lambda pods: len(pods) == len(tasks), seconds=PATIENCE_S)


def take_in(rig: KubeRig, spec: RunSpec) -> Observation:
    """Watch a run to its end as the platform does: what has ended is on record before the run is called over."""
    taken: set[int] = set()

    def look() -> Observation:
        assert spec.array is not None
        seen = rig.driver.observe(replace(spec, array=replace(spec.array, taken=frozenset(taken))))
        ended = [each for each in seen.tasks if each.phase in (Phase.SUCCEEDED, Phase.FAILED)]
        for each in ended:
            if each.index not in taken:
                assert rig.driver.task_log(spec, each.index, tail=5) == ("I am done",)
        taken.update(each.index for each in ended)
        return seen

    return until(look, lambda seen: seen.phase in SETTLED, seconds=PATIENCE_S)


def test_its_tasks_run_so_many_at_once_and_their_logs_are_taken_in_before_it_is_over(rig: KubeRig) -> None:
    spec = an_array(RUN)
    rig.note(spec, succeed_after="0.3", log="I am done")

    began = rig.started(spec)
    done = take_in(rig, spec)

    assert began.started_at is not None
    assert (done.phase, done.exit_code) == (Phase.SUCCEEDED, 0)
    assert done.ended_at is not None
    assert done.ended_at >= began.started_at
    assert rig.absent(spec).phase is Phase.ABSENT
    assert rig.everything_of(spec) == []


def test_a_task_is_tried_again_a_fatal_one_is_not_and_the_rest_goes_on(rig: KubeRig) -> None:
    run = replace(RUN, tasks=(0, 2, 3), retries=1, fatal_codes=(7,))
    spec = an_array(run, at_once=3)
    rig.note(spec, log="I am done")
    rig.started(spec)
    pods = running(rig, spec, 0, 2, 3)

    rig.end_pod(spec, name_of(pods[0]), exit_code=1)
    rig.end_pod(spec, name_of(pods[2]), exit_code=7)
    rig.end_pod(spec, name_of(pods[3]), exit_code=0)
    again = until(lambda: other(rig, spec, 0, pods[0]), bool, seconds=PATIENCE_S)
    seen = until(lambda: tasks(rig, spec), lambda told: told[2].phase is Phase.FAILED, seconds=PATIENCE_S)
    assert (seen[0].phase, seen[0].failures, seen[2].exit_code, seen[3].phase) == (
        Phase.RUNNING,
        1,
        7,
        Phase.SUCCEEDED,
    )

    rig.end_pod(spec, name_of(again[0]), exit_code=0)
    over = take_in(rig, spec)

    assert (over.phase, over.exit_code) == (Phase.FAILED, 7)
    assert over.reason is not None
    assert (over.reason.code, over.reason.message) == ("tasks_failed", "1 of 3 tasks failed.")


def test_an_eviction_starts_the_task_again_and_counts_as_no_failure(rig: KubeRig) -> None:
    spec = an_array(replace(RUN, tasks=(0, 1)))
    rig.note(spec, log="I am done")
    rig.started(spec)
    pods = running(rig, spec, 0, 1)

    rig.end_pod(spec, name_of(pods[1]), exit_code=137, evicted=True)
    again = until(lambda: other(rig, spec, 1, pods[1]), bool, seconds=PATIENCE_S)

    assert tasks(rig, spec)[1].failures == 0
    for pod in (pods[0], again[0]):
        rig.end_pod(spec, name_of(pod), exit_code=0)
    assert take_in(rig, spec).phase is Phase.SUCCEEDED


def test_the_first_failure_ends_the_others_where_that_is_the_rule(rig: KubeRig) -> None:
    spec = an_array(replace(RUN, stops_at_failure=True))
    rig.note(spec, log="I am done")
    rig.started(spec)
    pods = running(rig, spec, 0, 1)

    rig.end_pod(spec, name_of(pods[0]), exit_code=4)
    over = take_in(rig, spec)

    assert (over.phase, over.exit_code) == (Phase.FAILED, 4)
    assert rig.held(spec) == []


def tasks(rig: KubeRig, spec: RunSpec) -> dict[int, TaskSeen]:
    return {each.index: each for each in rig.driver.observe(spec).tasks}


def other(rig: KubeRig, spec: RunSpec, task: int, than: Json) -> list[Json]:
    """Another pod of the task that runs. Looking is what lets go of one that was taken away."""
    rig.driver.observe(spec)
    return [
        pod
        for pod in rig.pods(spec)
        if arrays.task_of(pod) == task and name_of(pod) != name_of(than) and not is_over(pod) and _runs(pod)
    ]


def _runs(pod: Json) -> bool:
    return text(pod, "status", "phase") == "Running"
