"""What Kueue says of a job, row by row, and when one of its queues is no longer as we wrote it."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from uuid import UUID

import pytest

from provisioning.drivers.kubernetes import queues
from provisioning.drivers.kubernetes.queues import Flavor
from provisioning.drivers.kubernetes.reading import Json, part, rows

BEGAN = datetime(2026, 11, 30, 12, tzinfo=UTC)
RUNS: Json = {"metadata": {"labels": {queues.QUEUE_NAME: "steelyard"}}, "spec": {"suspend": False}}
HELD = RUNS | {"spec": {"suspend": True}}
PLAIN: Json = {"metadata": {}, "spec": {"suspend": True}}
H100 = Flavor("NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.product")


def said(*conditions: tuple[str, str, str], active: bool = True, minute: int = 5) -> Json:
    at = f"2026-11-30T12:{minute:02}:00Z"
    rows = [
        {"type": kind, "status": status, "message": message, "lastTransitionTime": at}
        for kind, status, message in conditions
    ]
    return {"spec": {"active": active}, "status": {"conditions": rows}}


PUT_OUT = said(("Evicted", "True", "The workload is deactivated"), active=False)


class TestWhyAJobWaits:
    @pytest.mark.parametrize(
        ("workload", "code", "words"),
        [
            (None, "kueue_silent", "not taken it up"),
            (said(), "kueue_silent", "not taken it up"),
            (said(("QuotaReserved", "False", "insufficient quota for cpu")), "kueue_pending", "quota for cpu"),
            (
                said(("QuotaReserved", "True", ""), ("Admitted", "False", "not all checks pass")),
                "kueue_pending",
                "checks",
            ),
            (said(("QuotaReserved", "True", "")), "kueue_pending", "Kueue's checks go on"),
        ],
    )
    def test_is_told_in_kueues_words(self, workload: Json | None, code: str, words: str) -> None:
        reason = queues.why_held(workload)

        assert reason.code == code
        assert words in reason.message

    def test_is_over_for_one_that_was_put_out_of_the_queue(self) -> None:
        given_up = queues.why_given_up(PUT_OUT)

        assert given_up is not None
        assert given_up.code == "deactivated_in_kueue"
        assert "The workload is deactivated" in given_up.message
        assert queues.why_given_up(said()) is None
        assert queues.why_given_up(None) is None

    @pytest.mark.parametrize(("job", "held"), [(HELD, True), (RUNS, False), (PLAIN, False), (None, False)])
    def test_only_a_suspended_job_in_a_queue_waits(self, job: Json | None, held: bool) -> None:
        assert queues.is_held(job) is held


class TestWhyARunEnded:
    @pytest.mark.parametrize(
        ("job", "workload", "code"),
        [
            (HELD, said(("Evicted", "True", "Preempted")), "preempted_by_kueue"),
            (RUNS, said(("Evicted", "True", "Preempted")), "preempted_by_kueue"),  # its job is suspended in a moment
            (HELD, None, "preempted_by_kueue"),
            (RUNS, said(("Evicted", "False", "Previously: Preempted")), "preempted_by_kueue"),  # and let in again
            (RUNS, said(("Evicted", "False", "Previously: Preempted"), minute=0), None),  # before this run
            (RUNS, said(("Admitted", "True", "")), None),
            (RUNS, None, None),
            (HELD, PUT_OUT, "deactivated_in_kueue"),
            (PLAIN, said(("Evicted", "True", "Preempted")), None),
            (None, None, None),
        ],
    )
    def test_is_kueues_doing_where_it_says_so(self, job: Json | None, workload: Json | None, code: str | None) -> None:
        reason = queues.why_taken_back(job, workload, since=BEGAN)

        assert (reason.code if reason else None) == code


class TestAQueue:
    def queue(self, **limits: int) -> Json:
        found: Json = queues.cluster_queue(UUID(int=1), UUID(int=2), limits, (Flavor(), H100))
        return found

    def test_is_as_wanted_in_other_words_of_the_same_sizes_and_with_what_others_add(self) -> None:
        wanted = self.queue(vcpus=8, memory_gib=1024)
        found = deepcopy(wanted)
        part(found, "spec")["stopPolicy"] = "None"
        memory = rows(rows(rows(found, "spec", "resourceGroups")[0], "flavors")[0], "resources")[1]
        assert memory == {"name": "memory", "nominalQuota": "1024Gi"}
        memory["nominalQuota"] = "1Ti"

        assert queues.is_as_wanted(found, wanted)

    @pytest.mark.parametrize(
        "change", [{"cohortName": "all"}, {"resourceGroups": []}, {"queueingStrategy": "StrictFIFO"}]
    )
    def test_drifts_where_another_changed_it(self, change: Json) -> None:
        wanted, found = self.queue(vcpus=8), self.queue(vcpus=8)
        part(found, "spec").update(change)

        assert not queues.is_as_wanted(found, wanted)
        assert queues.is_drift(found, wanted)

    def test_that_is_behind_our_limits_has_not_drifted(self) -> None:
        assert not queues.is_as_wanted(self.queue(vcpus=8), self.queue(vcpus=9))
        assert not queues.is_drift(self.queue(vcpus=8), self.queue(vcpus=9))

    @pytest.mark.parametrize(
        ("limits", "quota"),
        [
            ({"accelerators": 8, "accelerators/H100": 4}, "4"),
            ({"accelerators": 2, "accelerators/H100": 4}, "2"),
            ({"accelerators/T4": 4}, "1G"),
            ({"accelerators": 0}, "0"),
        ],
    )
    def test_has_the_narrower_of_both_limits_of_a_model(self, limits: dict[str, int], quota: str) -> None:
        group = rows(self.queue(**limits), "spec", "resourceGroups")[1]

        assert rows(group, "flavors")[0]["resources"] == [{"name": "nvidia.com/gpu", "nominalQuota": quota}]
