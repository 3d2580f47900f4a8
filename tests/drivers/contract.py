"""What every driver promises, as tests. A driver's own module subclasses one of these and gives a `rig`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from provisioning.drivers.base import (
    FindsStrays,
    KeepsVolumes,
    Phase,
    ProbeFailed,
    ReportsActivity,
    VolumeInUse,
    WorkloadDriver,
)
from tests.drivers.rig import LocalRig, Rig, a_spec


class WorkloadContract:
    """What holds also where machines are simulated."""

    def test_it_offers_what_it_says(self, rig: Rig) -> None:
        for protocol in (WorkloadDriver, ReportsActivity, KeepsVolumes, FindsStrays):
            assert isinstance(rig.driver, protocol)

    def test_what_was_never_started_is_absent(self, rig: Rig) -> None:
        spec = a_spec()

        for ask in (rig.driver.observe, rig.driver.ensure_stopped, rig.driver.ensure_absent):
            assert ask(spec).phase is Phase.ABSENT
        assert rig.driver.endpoint_of(spec) is None
        assert rig.driver.logs(spec, tail=10) == ()

    def test_a_start_says_when_the_capacity_was_bound(self, rig: Rig) -> None:
        spec, before = a_spec(), rig.now()

        first = rig.bound(spec)
        ready = rig.started(spec)

        assert first.started_at is not None
        assert before <= first.started_at <= datetime.now(UTC)
        assert ready.phase is Phase.RUNNING
        assert (ready.started_at, ready.incarnation) == (first.started_at, first.incarnation)

    def test_asking_again_changes_nothing(self, rig: Rig) -> None:
        spec = a_spec()
        first = rig.started(spec)
        processes = rig.held(spec)

        again = [rig.driver.ensure_present(spec) for _ in range(5)]

        assert {each.incarnation for each in again} == {first.incarnation}
        assert rig.held(spec) == processes

    def test_stopping_ends_all_and_says_when(self, rig: Rig) -> None:
        spec = a_spec()
        ready = rig.started(spec)
        before = rig.now()

        stopped = rig.stopped(spec)

        assert stopped.phase is Phase.STOPPED
        assert stopped.reason is None
        assert stopped.started_at == ready.started_at
        assert stopped.ended_at is not None
        assert before <= stopped.ended_at <= datetime.now(UTC)
        assert rig.held(spec) == []
        assert rig.driver.endpoint_of(spec) is None
        assert rig.stopped(spec) == stopped

    def test_a_start_after_a_stop_is_another_run(self, rig: Rig) -> None:
        spec = a_spec()
        first = rig.started(spec)
        rig.stopped(spec)

        second = rig.started(spec)

        assert second.incarnation != first.incarnation
        assert second.ended_at is None

    def test_removal_leaves_nothing_and_remembers_the_end(self, rig: Rig) -> None:
        spec = a_spec()
        rig.started(spec)

        gone = rig.absent(spec)

        assert gone.ended_at is not None
        assert rig.absent(spec) == gone
        assert rig.held(spec) == []
        assert rig.driver.logs(spec, tail=10) == ()

    def test_a_volume_goes_only_when_nothing_holds_it(self, rig: Rig) -> None:
        spec = a_spec()
        rig.started(spec)

        with pytest.raises(VolumeInUse):
            rig.driver.ensure_volume_absent(project_id=spec.project_id, volume_id=spec.volume_id)
        rig.absent(spec)
        for _ in range(2):
            rig.driver.ensure_volume_absent(project_id=spec.project_id, volume_id=spec.volume_id)

        assert not rig.keeps_volume(spec)

    def test_a_failed_start_shows_the_last_lines(self, rig: Rig) -> None:
        spec = a_spec()
        rig.doom(spec)

        failed = rig.failed(spec)

        assert failed.reason is not None
        assert failed.reason.code == "start_failed"
        assert "exit code 3" in failed.reason.message
        assert failed.log_tail == ("the engine is cold", "the last word")
        assert failed.ended_at is not None

    def test_a_failure_stays_until_it_is_acknowledged(self, rig: Rig) -> None:
        spec = a_spec()
        rig.doom(spec)
        failed = rig.failed(spec)
        rig.spare(spec)

        assert rig.driver.ensure_present(spec) == failed
        assert rig.stopped(spec).phase is Phase.FAILED
        assert rig.started(spec).incarnation != failed.incarnation

    def test_what_nobody_knows_of_is_found_and_ended(self, rig: Rig) -> None:
        known, unknown = a_spec(), a_spec()
        for spec in (known, unknown):
            rig.started(spec)

        (stray,) = rig.driver.strays([known.workload_id])
        rig.until_ended(stray)

        assert stray.workload_id == unknown.workload_id
        assert rig.held(unknown) == []
        assert rig.driver.strays([known.workload_id]) == ()
        assert rig.driver.observe(known).ready


class JobContract:
    """What every driver that runs commands promises."""

    def test_a_command_that_ends_well_has_succeeded(self, rig: Rig) -> None:
        spec, before = rig.job(exit_code=0), rig.now()

        done = rig.over(spec)

        assert (done.phase, done.exit_code, done.reason) == (Phase.SUCCEEDED, 0, None)
        assert done.started_at is not None
        assert done.ended_at is not None
        assert before <= done.started_at <= done.ended_at <= datetime.now(UTC)
        assert rig.driver.endpoint_of(spec) is None
        assert rig.driver.logs(spec, tail=10) == ("the engine is cold", "the last word")

    def test_a_command_that_fails_says_how(self, rig: Rig) -> None:
        spec = rig.job(exit_code=3)

        failed = rig.over(spec)

        assert (failed.phase, failed.exit_code) == (Phase.FAILED, 3)
        assert failed.reason is not None
        assert failed.reason.code == "command_failed"
        assert "exit code 3" in failed.reason.message
        assert failed.log_tail == ("the engine is cold", "the last word")

    def test_its_end_stays_until_it_is_acknowledged_and_then_another_may_run(self, rig: Rig) -> None:
        spec = rig.job(exit_code=0)
        done = rig.over(spec)

        assert rig.driver.ensure_present(spec) == done
        assert rig.stopped(spec).phase is Phase.SUCCEEDED
        again = rig.over(spec)
        assert again.incarnation != done.incarnation

    def test_one_that_goes_on_is_stopped_and_has_not_failed(self, rig: Rig) -> None:
        spec = rig.job()
        rig.started(spec)

        stopped = rig.stopped(spec)

        assert (stopped.phase, stopped.reason, stopped.exit_code) == (Phase.STOPPED, None, None)
        assert rig.held(spec) == []


class ProcessContract(WorkloadContract):
    """What needs a server that truly runs, whose files can be reached."""

    def test_files_survive_a_stop_and_a_start(self, rig: LocalRig) -> None:
        spec = a_spec()
        rig.started(spec)
        (rig.home(spec) / "notes.txt").write_text("kept")
        rig.stopped(spec)

        rig.started(spec)

        assert (rig.home(spec) / "notes.txt").read_text() == "kept"

    def test_removal_leaves_the_volume_alone(self, rig: LocalRig) -> None:
        spec = a_spec()
        rig.started(spec)
        (rig.home(spec) / "notes.txt").write_text("kept")

        rig.absent(spec)

        assert (rig.home(spec) / "notes.txt").read_text() == "kept"

    def test_a_missing_image_is_named(self, rig: LocalRig) -> None:
        spec = a_spec(image="no-such-image")

        failed = rig.driver.ensure_present(spec)

        assert failed.phase is Phase.FAILED
        assert failed.reason is not None
        assert failed.reason.code == "image_not_found"
        assert "no-such-image" in failed.reason.message
        assert (failed.started_at, failed.ended_at) == (None, None)

    def test_a_server_that_does_not_answer_is_not_ready(self, rig: LocalRig) -> None:
        spec = a_spec()
        rig.started(spec)

        (rig.home(spec) / "no-status").touch()

        assert rig.driver.observe(spec).phase is Phase.RUNNING
        assert not rig.driver.observe(spec).ready

    def test_activity_that_cannot_be_read_is_unknown(self, rig: LocalRig) -> None:
        spec, now = a_spec(), datetime.now(UTC)
        with pytest.raises(ProbeFailed):
            rig.driver.activity(spec, now=now)
        rig.started(spec)
        assert not rig.driver.activity(spec, now=now).busy

        for nonsense in ("{}", "[1]", "no", '[{"name": "python3"}]'):
            (rig.home(spec) / "kernels.json").write_text(nonsense)
            with pytest.raises(ProbeFailed):
                rig.driver.activity(spec, now=now)

    def test_a_busy_kernel_is_work_however_long_it_is_silent(self, rig: LocalRig) -> None:
        spec, now = a_spec(), datetime.now(UTC)
        long_ago = now - timedelta(hours=3)
        rig.started(spec)
        (rig.home(spec) / "kernels.json").write_text(
            f'[{{"name": "python3", "execution_state": "busy", "connections": 0,'
            f' "last_activity": "{long_ago:%Y-%m-%dT%H:%M:%S.%fZ}"}}]'
        )

        reading = rig.driver.activity(spec, now=now)

        assert reading.busy
        assert reading.last_activity == long_ago
        assert reading.connections == 0
