"""Arrays on the local driver: real processes, which do what their tasks say."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.drivers.base import Phase, RunSpec
from provisioning.drivers.jobs import ArrayRun
from provisioning.drivers.local import array, beneath, places, tasks
from provisioning.jobs import parameters_of
from tests.drivers.rig import LocalRig, until

ALL = ArrayRun(tasks=(0, 1, 2, 3), count=4)
SWEEP = (("LR", ("0.1", "it's")), ("SEED", ("1", "2")))


def ends(rig: LocalRig, spec: RunSpec) -> list[tuple[int, str, int | None, int]]:
    return [(each.index, each.phase, each.exit_code, each.failures) for each in rig.driver.observe(spec).tasks]


class TestArrays:
    def test_each_task_runs_once_with_its_index_and_its_variables(self, rig: LocalRig) -> None:
        said = "echo $STEELYARD_TASK_INDEX $JOB_COMPLETION_INDEX of $STEELYARD_TASKS: $LR $SEED, $RANK of $WORLD_SIZE"
        spec = rig.array(said, replace(ALL, sweep=SWEEP), at_once=2)

        assert rig.over(spec).phase is Phase.SUCCEEDED

        said_by = [rig.driver.task_log(spec, index, tail=5) for index in range(4)]
        assert said_by == [
            ("0 0 of 4: 0.1 1, 0 of 1",),
            ("1 1 of 4: 0.1 2, 0 of 1",),
            ("2 2 of 4: it's 1, 0 of 1",),
            ("3 3 of 4: it's 2, 0 of 1",),
        ]
        assert ends(rig, spec) == [(index, Phase.SUCCEEDED, 0, 0) for index in range(4)]
        assert sorted(line[:3] for line in rig.driver.logs(spec, tail=9)) == ["[0]", "[1]", "[2]", "[3]"]

    def test_no_more_run_at_once_than_were_asked_for(self, rig: LocalRig) -> None:
        script = "mkdir -p on; touch on/$$; ls on | wc -l; sleep 0.3; rm on/$$"

        spec = rig.array(script, ArrayRun(tuple(range(6)), 6), at_once=2)

        assert rig.over(spec).phase is Phase.SUCCEEDED
        seen = {int(rig.driver.task_log(spec, index, tail=1)[0]) for index in range(6)}
        assert seen == {1, 2} or seen == {2}

    def test_a_task_is_tried_again_and_those_that_fail_for_good_do_not_stop_the_others(self, rig: LocalRig) -> None:
        script = """
            case $STEELYARD_TASK_INDEX in
            0) exit 5;;
            1) test -e tried && exit 0; touch tried; exit 1;;
            2) exit 7;;
            esac"""
        spec = rig.array(script, replace(ALL, retries=1, fatal_codes=(7,)))

        over = rig.over(spec)

        assert (over.phase, over.exit_code) == (Phase.FAILED, 7)
        assert ends(rig, spec) == [
            (0, Phase.FAILED, 5, 2),
            (1, Phase.SUCCEEDED, 0, 1),
            (2, Phase.FAILED, 7, 1),
            (3, Phase.SUCCEEDED, 0, 0),
        ]

    def test_the_first_failure_ends_the_others_where_that_is_the_rule(self, rig: LocalRig) -> None:
        script = "test $STEELYARD_TASK_INDEX = 1 && exit 4; exec sleep 60"
        spec = rig.array(script, replace(ALL, stops_at_failure=True), at_once=2)

        over = rig.over(spec)

        assert (over.phase, over.exit_code) == (Phase.FAILED, 4)
        assert ends(rig, spec) == [(0, Phase.STOPPED, None, 0), (1, Phase.FAILED, 4, 1)]

    def test_a_run_of_some_tasks_alone_tells_them_their_own_index(self, rig: LocalRig) -> None:
        spec = rig.array("echo $STEELYARD_TASK_INDEX $SEED", replace(ALL, tasks=(1, 3), sweep=SWEEP))

        assert rig.over(spec).phase is Phase.SUCCEEDED
        assert [rig.driver.task_log(spec, index, tail=1) for index in (1, 3)] == [("1 2",), ("3 2",)]

    def test_a_stop_ends_those_that_run(self, rig: LocalRig) -> None:
        spec = rig.array("exec sleep 60", ALL, at_once=2)
        rig.started(spec)
        until(lambda: rig.driver.observe(spec).tasks, lambda seen: len(seen) == 2)

        assert rig.stopped(spec).phase is Phase.STOPPED
        assert rig.held(spec) == []
        assert [end[1] for end in ends(rig, spec)] == [Phase.STOPPED, Phase.STOPPED]

    def test_a_program_that_is_not_there_is_a_failure_of_each_task(self, rig: LocalRig) -> None:
        spec = replace(rig.array("", ALL), command=("no-such-program",))

        assert rig.over(spec).exit_code == 127


class TestInside:
    def test_tasks_that_run_are_told_with_what_they_use(self, rig: LocalRig) -> None:
        spec = rig.array("while :; do :; done", ALL, at_once=2)
        rig.started(spec)

        found = until(
            lambda: rig.driver.pods(spec),
            lambda seen: len(seen.pods) == 2 and all(pod.cpu_milli for pod in seen.pods),
            seconds=60,
        )

        assert [pod.part for pod in found.pods] == ["task 0", "task 1"]
        assert all(pod.memory_bytes for pod in found.pods)
        rig.stopped(spec)
        assert rig.driver.pods(spec).pods == ()


class TestWhatAWorkloadWrites:
    """Its folder is its own: nothing in it is believed without a look, and no link is followed."""

    @pytest.fixture
    def spec(self, rig: LocalRig) -> RunSpec:
        spec = rig.array("exit 0", ALL)
        rig.over(spec)
        return spec

    def test_of_tasks_that_are_none_is_no_report(self, rig: LocalRig, spec: RunSpec) -> None:
        told = [{"index": 99, "state": "failed", "at": 1}, {"index": -1}, {"index": "0"}, [], "x"]
        lines = [*map(json.dumps, told), "{", json.dumps({"index": 0, "state": "running", "at": 2**80})]
        self.box(rig, spec).joinpath(tasks.FOLDER, array.REPORT).write_text("\n".join(lines))

        assert rig.driver.observe(spec).tasks == ()

    def test_a_link_in_the_place_of_a_log_is_not_followed(self, rig: LocalRig, spec: RunSpec) -> None:
        log = self.box(rig, spec) / tasks.FOLDER / "0.log"
        log.unlink()
        log.symlink_to("/etc/passwd")

        assert rig.driver.task_log(spec, 0, tail=5) == ()

    def test_nor_is_one_in_the_place_of_the_folder(self, rig: LocalRig, spec: RunSpec) -> None:
        folder = self.box(rig, spec) / tasks.FOLDER
        folder.rename(folder.with_name("aside"))
        folder.symlink_to("aside")

        assert rig.driver.task_log(spec, 0, tail=5) == ()
        assert rig.driver.observe(spec).tasks == ()

    @pytest.mark.parametrize("name", ["..", ".", "", "a/b", "a\0b"])
    def test_a_name_that_leads_elsewhere_is_none(self, rig: LocalRig, spec: RunSpec, name: str) -> None:
        with pytest.raises(OSError, match="not a name"):
            beneath.file(self.box(rig, spec), (name,))

    def test_a_second_name_of_a_file_is_no_plain_file(self, rig: LocalRig, spec: RunSpec) -> None:
        box = self.box(rig, spec)
        (box / "secret").write_text("secret")
        os.link(box / "secret", box / "second")

        with pytest.raises(beneath.NotPlain):
            beneath.file(box, ("second",))

    def box(self, rig: LocalRig, spec: RunSpec):
        return places.places_of(spec.workload_id, rig.config).box


_VALUES = st.lists(st.text("ab'\" $`\\\n", max_size=4), min_size=1, max_size=3)
_SWEEPS = st.dictionaries(st.sampled_from(["A", "LR", "Z_1"]), _VALUES, min_size=1)


@given(_SWEEPS, st.integers(0, 40))
def test_the_supervisor_reads_a_sweep_as_everybody_does(sweep, index):
    read = tuple((name, tuple(values)) for name, values in sorted(sweep.items()))
    own = array.told({"sweep": read}, index)

    assert {name: own[name] for name in sweep} == parameters_of(read, index)
