"""The local driver: the contract, and faults that only real processes have."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import subprocess
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from provisioning.drivers.base import DriverUnavailable, Observation, Phase, RunSpec
from provisioning.drivers.local import places, procfs, record, uids
from provisioning.drivers.local.config import LocalConfig
from provisioning.drivers.local.driver import LocalDriver
from tests.drivers.contract import JobContract, ProcessContract
from tests.drivers.rig import LocalRig, a_spec, config_in, until

PROMPT_S = 5.0  # a second, and some for a busy machine


class TestLocalDriver(ProcessContract):
    """Every promise of the contract."""


class TestLocalJobs(JobContract):
    """Every promise about commands."""

    def test_every_worker_is_told_its_rank_and_where_the_first_is(self, rig: LocalRig) -> None:
        said = "echo $RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT, torchrun: $PET_NODE_RANK of $PET_NNODES"
        spec = replace(rig.job(workers=3), command=("sh", "-c", said))

        assert rig.over(spec).phase is Phase.SUCCEEDED

        lines = sorted(rig.driver.logs(spec, tail=10))
        (place,) = {line.partition(" at ")[2].partition(",")[0] for line in lines}
        assert lines == [f"[{n}] {n} of 3 at {place}, torchrun: {n} of 3" for n in range(3)]
        assert place.startswith("127.0.0.1:")

    def test_the_first_worker_that_fails_ends_the_others(self, rig: LocalRig) -> None:
        command = ("sh", "-c", "test $RANK = 1 && exit 7; sleep 60")

        failed = rig.over(replace(rig.job(workers=3), command=command))

        assert (failed.phase, failed.exit_code) == (Phase.FAILED, 7)

    @pytest.mark.parametrize(
        ("command", "exit_code"), [(("no-such-program",), 127), (("sh", "-c", "kill -9 $$"), 137), (("/etc",), 126)]
    )
    def test_an_end_is_told_as_a_shell_tells_it(self, rig: LocalRig, command: tuple[str, ...], exit_code: int) -> None:
        failed = rig.over(replace(rig.job(), command=command))

        assert (failed.phase, failed.exit_code) == (Phase.FAILED, exit_code)

    def test_files_of_one_attempt_are_there_for_the_next(self, rig: LocalRig) -> None:
        spec = replace(rig.job(), command=("sh", "-c", "test -e checkpoint && exit 0; touch checkpoint; exit 1"))

        assert rig.over(spec).exit_code == 1
        rig.stopped(spec)

        assert rig.over(spec).exit_code == 0


class TestManyAsk:
    def test_eight_processes_at_once_start_one_server(self, rig: LocalRig) -> None:
        spec = a_spec()
        with multiprocessing.get_context("spawn").Pool(8) as pool:
            pool.starmap(_warm, [()] * 8)

            answers = pool.starmap(_present, [(rig.config, spec)] * 8)

        assert len({answer.incarnation for answer in answers}) == 1
        rig.started(spec)
        assert len(rig.processes(spec)) == 1

    def test_starts_and_stops_at_once_leave_one_server_or_none(self, rig: LocalRig) -> None:
        spec = a_spec()
        with multiprocessing.get_context("spawn").Pool(4) as pool:
            for _ in range(5):
                asked = pool.starmap_async(_present, [(rig.config, spec)] * 4)
                rig.driver.ensure_stopped(spec)
                asked.get(timeout=30)
                assert len(rig.processes(spec)) <= 1
        rig.stopped(spec)
        assert rig.processes(spec) == []

    def test_every_call_returns_promptly(self, rig: LocalRig) -> None:
        spec = a_spec()
        (rig.home(spec) / "ignore-term").touch()
        rig.started(spec)

        for ask in (rig.driver.ensure_present, rig.driver.ensure_stopped, rig.driver.observe):
            before = time.monotonic()
            ask(spec)
            assert time.monotonic() - before < PROMPT_S


class TestEnds:
    def test_grandchildren_that_left_their_session_end_too(self, rig: LocalRig) -> None:
        spec = a_spec()
        (rig.home(spec) / "command").write_text(
            "setsid setsid sleep 1000 & env -i setsid sh -c 'trap \"\" TERM; sleep 1000; :' &"
        )
        rig.started(spec)
        tree = until(lambda: _tree(rig, spec), lambda found: len(found) >= 4)

        rig.stopped(spec)

        assert [each for each in tree if procfs.is_same(each.pid, each.start_ticks)] == []

    def test_a_server_that_ignores_the_request_is_ended_after_its_grace(self, rig: LocalRig) -> None:
        spec = a_spec()
        (rig.home(spec) / "ignore-term").touch()
        rig.started(spec)

        first = rig.driver.ensure_stopped(spec)
        assert first.phase is Phase.STOPPING
        assert first.ended_at is None
        stopped = rig.stopped(spec)

        assert stopped.phase is Phase.STOPPED
        assert rig.processes(spec) == []

    def test_a_keeper_that_hangs_is_overridden(self, rig: LocalRig) -> None:
        spec = a_spec()
        rig.started(spec)
        os.kill(rig.keeper(spec), signal.SIGSTOP)

        stopped = rig.stopped(spec)

        assert stopped.phase is Phase.STOPPED
        assert rig.processes(spec) == []

    def test_a_server_shut_down_from_inside_is_stopped_by_itself(self, rig: LocalRig) -> None:
        spec = a_spec()
        rig.started(spec)
        socket = places.places_of(spec.workload_id, rig.config).socket

        subprocess.run(["curl", "-s", "--unix-socket", str(socket), "http://x/shut-down"], check=False)
        ended = until(lambda: rig.driver.observe(spec), lambda o: o.ended_at)

        assert ended.phase is Phase.STOPPED
        assert ended.reason is not None
        assert ended.reason.code == "ended_by_itself"

    def test_a_server_that_dies_while_it_runs_has_failed(self, rig: LocalRig) -> None:
        spec = a_spec()
        rig.started(spec)

        os.kill(rig.processes(spec)[0], signal.SIGKILL)
        ended = until(lambda: rig.driver.observe(spec), lambda o: o.ended_at)

        assert ended.phase is Phase.FAILED
        assert ended.reason is not None
        assert ended.reason.code == "server_ended"
        assert "SIGKILL" in ended.reason.message

    def test_the_platforms_end_ends_all_and_says_so(self, rig: LocalRig) -> None:
        specs = [a_spec() for _ in range(3)]
        for spec in specs:
            rig.started(spec)

        left = rig.driver.end_all(seconds=10)

        assert left == ()
        for spec in specs:
            seen = rig.driver.observe(spec)
            assert seen.phase is Phase.STOPPED
            assert seen.reason is not None
            assert seen.reason.code == "platform_stopped"
            assert seen.ended_at is not None
            assert rig.processes(spec) == []


class TestKills:
    def test_a_killed_keeper_leaves_nothing_and_no_second_server(self, rig: LocalRig) -> None:
        spec = a_spec()
        rig.started(spec)
        time.sleep(0.3)
        killed_at = datetime.now(UTC)
        os.kill(rig.keeper(spec), signal.SIGKILL)

        seen = until(lambda: rig.driver.observe(spec), lambda o: o.ended_at)

        assert seen.phase is Phase.STOPPED
        assert seen.reason is not None
        assert seen.reason.code == "interrupted"
        assert seen.ended_at is not None
        assert abs(seen.ended_at - killed_at) < timedelta(seconds=0.5)
        assert rig.processes(spec) == []
        assert rig.driver.ensure_present(spec) == seen
        rig.stopped(spec)
        rig.started(spec)
        assert len(rig.processes(spec)) == 1

    def test_without_a_namespace_strays_are_found_by_their_mark_and_group(self, tmp_path: Path) -> None:
        rig = LocalRig(LocalDriver(config_in(tmp_path, isolation="none")))
        spec = a_spec()
        (rig.home(spec) / "command").write_text("setsid sleep 1000 & env -i setsid sleep 1000 &")
        rig.started(spec)
        tree = until(lambda: _tree(rig, spec), lambda found: len(found) >= 3)
        os.kill(rig.keeper(spec), signal.SIGKILL)
        until(lambda: procfs.process(rig.keeper(spec)), lambda found: found is None)

        ended = rig.driver.observe(spec)

        assert ended.phase is Phase.STOPPED
        assert [each for each in tree if procfs.is_same(each.pid, each.start_ticks)] == []

    def test_a_whole_tree_killed_at_once_is_noticed(self, rig: LocalRig) -> None:
        spec = a_spec()
        rig.started(spec)
        everyone = [rig.keeper(spec), *(each.pid for each in _tree(rig, spec))]
        for pid in everyone:
            os.kill(pid, signal.SIGKILL)

        ended = until(lambda: rig.driver.observe(spec), lambda o: o.ended_at)

        assert ended.phase is Phase.STOPPED
        assert rig.stopped(spec).ended_at == ended.ended_at

    def test_a_run_is_found_again_by_another_process(self, rig: LocalRig) -> None:
        spec = a_spec()
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            first = pool.apply(_present, (rig.config, spec))

        assert rig.started(spec).incarnation == first.incarnation
        assert procfs.process(rig.keeper(spec)) is not None

    def test_a_caller_killed_while_it_starts_leaves_one_run_or_none(self, rig: LocalRig) -> None:
        for delay in (0.0, 0.01, 0.02, 0.04, 0.06, 0.08):
            spec = a_spec()
            caller = multiprocessing.get_context("fork").Process(target=_present, args=(rig.config, spec))
            caller.start()
            time.sleep(delay)
            caller.kill()
            caller.join()

            seen = rig.driver.ensure_present(spec)
            if seen.phase is Phase.FAILED:
                rig.stopped(spec)
            rig.started(spec)
            assert len(rig.processes(spec)) == 1

    def test_a_reused_pid_is_not_taken_for_the_keeper(self, rig: LocalRig) -> None:
        spec = a_spec()
        rig.started(spec)
        rig.stopped(spec)
        until(lambda: procfs.process(rig.keeper(spec)), lambda found: found is None)
        run = str(places.places_of(spec.workload_id, rig.config).run)
        before = replace(rig.record(spec), phase=record.RUNNING, ended_at=None, keeper_pid=os.getpid())
        record.write(run, before)

        stopped = rig.driver.ensure_stopped(spec)

        assert stopped.phase is Phase.STOPPED

    def test_after_a_restart_of_the_machine_nothing_is_taken_for_alive(self, rig: LocalRig) -> None:
        spec = a_spec()
        rig.started(spec)
        rig.stopped(spec)
        until(lambda: procfs.process(rig.keeper(spec)), lambda found: found is None)
        run = places.places_of(spec.workload_id, rig.config).run
        me = procfs.process(os.getpid())
        assert me is not None
        before = replace(
            rig.record(spec),
            phase=record.RUNNING,
            ended_at=None,
            boot="another-boot",
            keeper_pid=me.pid,
            keeper_ticks=me.start_ticks,
        )
        record.write(str(run), before)
        assert before.started_at is not None
        last_beat = before.started_at + 60_000_000
        os.utime(run / record.RECORD, ns=(0, last_beat * 1000))

        seen = rig.driver.observe(spec)

        assert seen.phase is Phase.STOPPED
        assert seen.reason is not None
        assert seen.reason.code == "machine_restarted"
        assert seen.started_at is not None
        assert seen.ended_at == seen.started_at + timedelta(seconds=60)


class TestTroubles:
    def test_a_full_disk_is_named(self, rig: LocalRig, monkeypatch: pytest.MonkeyPatch) -> None:
        spec = a_spec()

        def full(directory: str, _: record.Record) -> None:
            raise OSError(errno.ENOSPC, "No space left on device", directory)

        monkeypatch.setattr(record, "write", full)

        failed = rig.driver.ensure_present(spec)

        assert failed.phase is Phase.FAILED
        assert failed.reason is not None
        assert failed.reason.code == "disk_full"

    def test_a_folder_that_cannot_be_made_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "state").write_text("a file where the folder should be")
        driver = LocalDriver(config_in(tmp_path))

        failed = driver.ensure_present(a_spec())

        assert failed.phase is Phase.FAILED
        assert failed.reason is not None
        assert str(tmp_path / "state") in failed.reason.message

    def test_a_taken_lock_is_no_answer(self, rig: LocalRig) -> None:
        spec = a_spec()
        driver = LocalDriver(replace(rig.config, lock_s=0.1))
        run = places.places_of(spec.workload_id, rig.config).run
        run.mkdir(parents=True)
        lock = record.try_lock(str(run / record.DRIVER_LOCK))
        assert lock is not None

        with pytest.raises(DriverUnavailable):
            driver.ensure_present(spec)
        record.unlock(lock)

    def test_a_deep_state_folder_still_gets_a_socket(self, tmp_path: Path) -> None:
        deep = tmp_path / ("d" * 80)
        deep.mkdir()
        rig = LocalRig(LocalDriver(config_in(deep)))
        spec = a_spec()

        rig.started(spec)
        endpoint = rig.driver.endpoint_of(spec)
        rig.end_everything()

        assert endpoint is not None
        assert endpoint.unix_socket is not None
        assert len(endpoint.unix_socket) <= 107

    def test_a_chatty_server_cannot_fill_the_disk_with_its_log(self, tmp_path: Path) -> None:
        config = replace(config_in(tmp_path), log_bytes=20_000)
        rig = LocalRig(LocalDriver(config))
        spec = a_spec()
        (rig.home(spec) / "command").write_text("seq 1 20000; sleep 1; echo last words")
        rig.started(spec)

        until(lambda: rig.driver.logs(spec, tail=1), lambda lines: lines == ("last words",))
        until(places.places_of(spec.workload_id, config).log.stat, lambda s: s.st_size < 20_000)
        rig.end_everything()

    def test_a_run_folder_that_somebody_else_laid_out_is_refused(self, tmp_path: Path) -> None:
        deep = tmp_path / ("d" * 80)
        deep.mkdir()
        config = config_in(deep)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        config.run_dir.symlink_to(elsewhere)

        failed = LocalDriver(config).ensure_present(a_spec())
        config.run_dir.unlink()

        assert failed.phase is Phase.FAILED
        assert list(elsewhere.iterdir()) == []


class TestUids:
    def test_no_two_projects_share_one_and_none_changes(self, tmp_path: Path) -> None:
        config = config_in(tmp_path)
        config.state_dir.mkdir()
        projects = [a_spec().project_id for _ in range(50)]

        first = [uids.uid_of(project, config) for project in projects]
        second = [uids.uid_of(project, config) for project in projects]

        assert first == second
        assert len(set(first)) == len(projects)
        assert all(config.first_uid <= uid <= config.last_uid for uid in first)

    def test_an_exhausted_range_is_refused(self, tmp_path: Path) -> None:
        config = replace(config_in(tmp_path), first_uid=21_000, last_uid=21_001)
        config.state_dir.mkdir()
        for _ in range(2):
            uids.uid_of(a_spec().project_id, config)

        with pytest.raises(DriverUnavailable):
            uids.uid_of(a_spec().project_id, config)


def _warm() -> None:
    """Import everything before the race."""


def _present(config: LocalConfig, spec: RunSpec) -> Observation:
    return LocalDriver(config).ensure_present(spec)


def _tree(rig: LocalRig, spec: RunSpec) -> list[procfs.Process]:
    """Everything below the keeper that is not of the keeper's own making."""
    below = procfs.descendants_of(rig.keeper(spec))
    wrapped = rig.record(spec).wrappers > 0
    return [each for each in below if not (wrapped and each.pid == rig.record(spec).child_pid)]
