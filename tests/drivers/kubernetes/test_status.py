"""What pods say of a run, as tables. The pods are written as API servers and kubelets write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from provisioning.drivers.base import Phase, Reason
from provisioning.drivers.kubernetes import record as records
from provisioning.drivers.kubernetes import status
from provisioning.drivers.kubernetes.reading import Json
from provisioning.drivers.kubernetes.record import Record, Stage

NOON, LATER = "2026-12-01T12:00:00Z", "2026-12-01T12:30:00Z"
BOUND: Json = {"type": "PodScheduled", "status": "True", "lastTransitionTime": NOON}
READY: Json = {"type": "Ready", "status": "True"}


def pod(*conditions: Json, state: Json | None = None, meta: Json | None = None, **said: object) -> Json:
    container: Json = {"name": "server", "image": "x:1", "state": state or {}}
    container |= {"lastState": said.pop("last", {}), "started": said.pop("started", False)}
    whole = {"phase": "Pending", "conditions": list(conditions), "containerStatuses": [container]} | said
    return {"metadata": meta or {}, "spec": {"nodeName": "node-1"}, "status": whole}


def waiting(reason: str, message: str = "") -> Json:
    return {"waiting": {"reason": reason, "message": message}}


def ended(code: int, reason: str = "Error") -> Json:
    return {"terminated": {"exitCode": code, "reason": reason, "finishedAt": LATER}}


def disrupted(reason: str) -> Json:
    return {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": "no more room"}


LEAVING: Json = {"deletionTimestamp": LATER, "deletionGracePeriodSeconds": 30}
LET_GO: Json = {"deletionTimestamp": LATER, "deletionGracePeriodSeconds": 0}
NO_ROOM: Json = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/4 nodes"}


class TestAPod:
    @pytest.mark.parametrize(
        ("seen", "served", "phase", "reason"),
        [
            (pod(), False, Phase.STARTING, None),
            (pod(NO_ROOM), False, Phase.STARTING, "unschedulable"),
            (pod(BOUND, state=waiting("ContainerCreating")), False, Phase.STARTING, None),
            (pod(BOUND, state=waiting("ErrImagePull")), False, Phase.STARTING, "image_pull_failed"),
            (pod(BOUND, state=waiting("InvalidImageName")), False, Phase.FAILED, "image_not_found"),
            (pod(BOUND, state=waiting("CreateContainerConfigError")), False, Phase.STARTING, "container_not_created"),
            (pod(BOUND, READY, phase="Running", started=True), False, Phase.RUNNING, None),
            (pod(BOUND, phase="Running", started=True), True, Phase.RUNNING, None),
            (
                pod(BOUND, phase="Running", last=ended(3), state=waiting("CrashLoopBackOff")),
                False,
                Phase.FAILED,
                "start_failed",
            ),
            (pod(BOUND, READY, phase="Running", last=ended(3), started=True), True, Phase.FAILED, "server_failed"),
            (pod(BOUND, phase="Running", last=ended(0, "Completed")), True, Phase.STOPPED, "ended_by_itself"),
            (pod(BOUND, phase="Running", last=ended(137, "OOMKilled")), True, Phase.FAILED, "oom_killed"),
            (pod(BOUND, phase="Failed", reason="Evicted", state=ended(137)), True, Phase.STOPPED, "evicted"),
            (pod(BOUND, disrupted("PreemptionByScheduler"), phase="Running"), True, Phase.STOPPED, "evicted"),
            (pod(BOUND, phase="Running", meta=LEAVING), True, Phase.STOPPED, "removed_on_cluster"),
            (pod(BOUND, phase="Failed"), True, Phase.FAILED, "pod_failed"),
        ],
    )
    def test_reads_as_the_table_says(self, seen: Json, served: bool, phase: Phase, reason: str | None) -> None:
        found = status.verdict(seen, served=served)

        assert (found.phase, found.reason and found.reason.code) == (phase, reason)

    def test_capacity_is_bound_when_the_scheduler_says_so(self) -> None:
        assert status.started_at(pod(BOUND)) == datetime(2026, 12, 1, 12, tzinfo=UTC)
        assert status.started_at(pod(NO_ROOM)) is None

    @pytest.mark.parametrize(
        ("seen", "over"),
        [
            (pod(BOUND, phase="Running"), False),
            (pod(BOUND, phase="Running", meta=LEAVING), False),
            (pod(BOUND, phase="Running", meta=LET_GO), True),
            (pod(BOUND, phase="Failed"), True),
        ],
    )
    def test_it_is_over_when_its_node_has_let_it_go(self, seen: Json, over: bool) -> None:
        assert status.is_over(seen) is over

    def test_its_end_is_its_containers(self) -> None:
        assert status.ended_at(pod(BOUND, state=ended(0))) == datetime(2026, 12, 1, 12, 30, tzinfo=UTC)
        assert status.ended_at(pod(BOUND, state={"running": {}})) is None

    def test_a_taint_is_no_sign_of_life(self) -> None:
        assert status.alive_at(pod(meta=LET_GO)) == datetime(2026, 12, 1, 12, 30, tzinfo=UTC)
        assert status.alive_at(pod(disrupted("DeletionByTaintManager"), meta=LET_GO)) is None

    def test_a_lost_node_says_nothing_of_what_runs_on_it(self) -> None:
        found = status.verdict(pod(BOUND, phase="Running", started=True), served=True, node_ready=False)

        assert (found.phase, found.ready, found.over) == (Phase.RUNNING, False, False)
        assert found.reason is not None
        assert found.reason.code == "node_lost"


class TestTheRecord:
    def test_it_is_read_as_it_was_written(self) -> None:
        at = datetime(2026, 12, 1, 12, 0, 0, 123456, tzinfo=UTC)
        written = Record(
            "run",
            Stage.ENDED,
            pod="uid",
            served=True,
            started_at=at,
            alive_at=at,
            ended_at=at,
            outcome=Phase.FAILED,
            reason=Reason("oom_killed", "It needed more."),
            tail=("one", "two"),
            acknowledged=True,
        )

        assert records.loaded(records.dumped(written)) == written
        assert records.loaded(records.dumped(Record("run"))) == Record("run")

    @pytest.mark.parametrize(
        "nonsense", ["", "{", "[]", "{}", '{"stage": "live"}', '{"stage": "x", "outcome": "stopped"}']
    )
    def test_what_another_hand_wrote_is_no_record(self, nonsense: str) -> None:
        assert records.loaded(nonsense) is None


DONE = pod(BOUND, phase="Succeeded", state=ended(0, "Completed"))
BROKEN = pod(BOUND, phase="Failed", state=ended(3))
KILLED = pod(BOUND, phase="Failed", state=ended(137, "OOMKilled"))
STOPPED_WORKER = pod(BOUND, phase="Failed", state=ended(143), meta=LEAVING)
EVICTED_WORKER = pod(BOUND, phase="Failed", state=ended(137), reason="Evicted", message="no more room")
AT_WORK = pod(BOUND, READY, phase="Running", started=True)


class TestAPodWithACommand:
    @pytest.mark.parametrize(
        ("seen", "phase", "reason", "exit_code"),
        [
            (DONE, Phase.SUCCEEDED, None, 0),
            (BROKEN, Phase.FAILED, "command_failed", 3),
            (KILLED, Phase.FAILED, "oom_killed", 137),
            (STOPPED_WORKER, Phase.STOPPED, "removed_on_cluster", None),
            (EVICTED_WORKER, Phase.STOPPED, "evicted", None),
            (AT_WORK, Phase.RUNNING, None, None),
            (pod(NO_ROOM), Phase.STARTING, "unschedulable", None),
        ],
    )
    def test_reads_as_it_ended(self, seen, phase, reason, exit_code):
        found = status.verdict_of_command(seen)

        assert (found.phase, found.reason.code if found.reason else None, found.exit_code) == (phase, reason, exit_code)


class TestWorkersTogether:
    @pytest.mark.parametrize(
        ("pods", "expected", "phase", "exit_code"),
        [
            ((AT_WORK, AT_WORK), 2, Phase.RUNNING, None),
            ((AT_WORK,), 2, Phase.STARTING, None),
            ((AT_WORK, pod(NO_ROOM)), 2, Phase.STARTING, None),
            ((DONE, AT_WORK), 2, Phase.RUNNING, None),
            ((DONE, DONE), 2, Phase.SUCCEEDED, 0),
            ((DONE,), 2, Phase.STARTING, None),
            ((BROKEN, AT_WORK), 2, Phase.FAILED, 3),
            ((STOPPED_WORKER, BROKEN), 2, Phase.FAILED, 3),
            ((DONE, EVICTED_WORKER), 2, Phase.STOPPED, None),
        ],
    )
    def test_end_with_the_first_that_fails_and_the_last_that_is_done(self, pods, expected, phase, exit_code):
        found = status.together([status.verdict_of_command(each) for each in pods], expected=expected)

        assert (found.phase, found.exit_code) == (phase, exit_code)

    def test_are_bound_when_the_last_of_them_is(self):
        one = status.together([status.verdict_of_command(AT_WORK)], expected=2)
        both = status.together([status.verdict_of_command(AT_WORK)] * 2, expected=2)

        assert one.started_at is None
        assert both.started_at == datetime(2026, 12, 1, 12, tzinfo=UTC)
