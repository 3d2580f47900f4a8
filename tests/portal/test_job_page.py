"""The page of a job: what it says of its attempts, and what it offers to whom."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from portal.web.workloads.words import kind_word, outcome_words
from provisioning.drivers.base import Phase
from provisioning.drivers.jobs import Artifact, ArtifactMissing, ArtifactRead, Artifacts
from provisioning.drivers.registry import using
from provisioning.enums import Kind, Outcome, State
from provisioning.types import ArraySpec, JobSpec
from tenants.models import User
from tests import house
from tests.provisioning import stage

pytestmark = pytest.mark.django_db
BUTTON = re.compile(r'id="([a-z]+)-(?:button|link)"')


@pytest.fixture
def clock(db, monkeypatch):
    stage.open_shop()
    made = stage.Clock()
    monkeypatch.setattr("django.utils.timezone.now", made)
    return made


@pytest.fixture
def machine(clock):
    made = stage.Machine(clock)
    with using("local", made):
        yield made


@pytest.fixture
def job(aurora, clock, machine):
    """It runs its first attempt."""
    asked = JobSpec(("python", "train.py", "--note", "<b>two words</b>"), workers=2, retries=2)
    made = stage.launch(aurora, kind="job", job=asked)
    return stage.settle(aurora, made, machine, clock, seconds=2)


def page(tenant, person, workload, part="", **query):
    name = f"workload-{part}" if part else "workload"
    answer = house.client_for(tenant, person).get(reverse(name, args=[workload.pk]), query)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


class TestWhileItRuns:
    def test_shows_what_it_runs_and_offers_no_door(self, aurora, job):
        said = page(aurora, "alice", job)

        assert "<code>&lt;b&gt;two words&lt;/b&gt;</code>" in said
        assert "2 workers, each 1 H100" in said
        assert "2 of 2 retries left" in said
        assert "It is not stopped for being quiet." in said
        assert set(BUTTON.findall(said)) == {"delete", "stop"}
        assert 'id="activity"' not in said

    def test_a_limit_is_an_end_that_can_be_put_off(self, aurora, clock, machine):
        asked = JobSpec(("python",), max_duration=timedelta(hours=2))
        limited = stage.settle(aurora, stage.launch(aurora, kind="job", job=asked), machine, clock, seconds=2)

        said = page(aurora, "alice", limited)

        assert re.search(r"Ended at <time [^>]*>14:00</time>", said)
        assert "as long as an attempt of it may take" in said
        assert "keep" in BUTTON.findall(said)


class TestBetweenAttempts:
    @pytest.fixture
    def waiting(self, aurora, job, clock, machine):
        machine.ends(job.pk, 1)
        return stage.settle(aurora, job, machine, clock, seconds=4)

    def test_says_when_it_is_tried_again_in_the_zone_of_who_looks(self, aurora, waiting):
        User.objects.filter(pk=aurora.actor("alice").id).update(time_zone="Europe/Berlin")

        said = page(aurora, "alice", waiting)

        assert re.search(r"Waiting to retry at 13:00:1\d", said)  # noon in UTC is 13:00 in Berlin
        assert "1 of 2 retries left" in said
        assert "UTC" not in said.partition('id="attempts"')[0]
        assert set(BUTTON.findall(said)) == {"delete", "stop", "start"}
        assert "Retry now" in said

    def test_the_list_calls_it_waiting_and_finds_it_by_its_kind(self, aurora, waiting):
        client = house.client_for(aurora, "alice")

        found = client.get("/workspaces?kind=job").content.decode()
        assert "Waiting to retry at" in found
        assert "1 waits." in found
        assert str(waiting.pk) not in client.get("/workspaces?kind=workspace").content.decode()

    def test_the_log_of_an_attempt_is_kept(self, aurora, waiting):
        said = page(aurora, "alice", waiting, attempt="1")

        assert "Log of attempt 1" in said
        assert ">line</pre>" in page(aurora, "alice", waiting, "logs", attempt="1")
        client = house.client_for(aurora, "alice")
        assert client.get(reverse("workload-logs", args=[waiting.pk]), {"attempt": "9"}).status_code == 404
        assert client.get(reverse("workload-logs", args=[waiting.pk]), {"attempt": "x"}).status_code == 200

    def test_a_viewer_looks_and_a_stranger_finds_nothing(self, aurora, borealis, waiting):
        said = page(aurora, "victor", waiting)
        stranger = house.client_for(borealis, "charlie")

        assert BUTTON.findall(said) == []
        assert stranger.get(reverse("workload-attempts", args=[waiting.pk])).status_code == 404


class Leaving(stage.Machine):
    """A machine whose jobs leave one file."""

    def artifacts(self, spec):
        return Artifacts((Artifact("model/<w>.pt", 7, stage.NOON),))

    def artifact(self, spec, path):
        if path != "model/<w>.pt":
            raise ArtifactMissing(path)
        return ArtifactRead(7, (piece for piece in (b"wei", b"ghts")))


class TestArtefacts:
    @pytest.fixture
    def leaving(self, job, clock):
        with using("local", Leaving(clock)):
            yield job

    def test_are_listed_and_downloaded_by_whoever_sees_the_job(self, aurora, leaving):
        said = page(aurora, "victor", leaving, "artifacts")
        file = house.client_for(aurora, "victor").get(
            reverse("workload-artifact", args=[leaving.pk]), {"path": "model/<w>.pt"}
        )

        assert "model/&lt;w&gt;.pt</a>" in said
        assert b"".join(file) == b"weights"
        assert file["Content-Type"] == "application/octet-stream"
        assert file["Content-Disposition"].startswith("attachment; ")
        assert file["Content-Length"] == "7"

    def test_by_the_api_too(self, aurora, leaving):
        client, where = house.api_for(aurora, "alice"), f"/api/v1/workloads/{leaving.pk}/artifacts"

        listed = client.get(where).json()
        assert [(file["path"], file["size"]) for file in listed["files"]] == [("model/<w>.pt", 7)]
        assert b"".join(client.get(f"{where}/content", {"path": "model/<w>.pt"})) == b"weights"
        assert client.get(f"{where}/content", {"path": "other"}).status_code == 404
        assert client.get(f"{where}/content").status_code == 404

    def test_a_stranger_finds_none(self, borealis, leaving):
        api, person = house.api_for(borealis, "charlie"), house.client_for(borealis, "charlie")

        assert api.get(f"/api/v1/workloads/{leaving.pk}/artifacts").status_code == 404
        assert api.get(f"/api/v1/workloads/{leaving.pk}/artifacts/content?path=model/<w>.pt").status_code == 404
        assert person.get(reverse("workload-artifact", args=[leaving.pk]), {"path": "x"}).status_code == 404

    def test_where_a_cluster_does_not_show_them_the_page_says_so(self, aurora, job):
        answer = house.api_for(aurora, "alice").get(f"/api/v1/workloads/{job.pk}/artifacts")

        assert (answer.status_code, answer.json()["code"]) == (409, "artifacts_unavailable")
        assert "are not read from this kind of cluster" in page(aurora, "alice", job, "artifacts")


class TestInside:
    def test_its_pods_are_shown_with_what_they_use(self, aurora, job):
        said = page(aurora, "victor", job, "pods")

        assert "pod-&lt;1&gt;" in said
        assert ">1.50</td>" in said
        assert "1.0" in said
        told = house.api_for(aurora, "alice").get(f"/api/v1/workloads/{job.pk}/pods").json()
        assert [(pod["part"], pod["cpu_milli"], pod["memory_bytes"]) for pod in told["pods"]] == [
            ("worker 0", 1500, 2**30)
        ]

    def test_what_its_cluster_said_is_kept_after_its_pods_are_gone(self, aurora, job, clock, machine):
        machine.ends(job.pk, 0)
        stage.settle(aurora, job, machine, clock)
        machine.runs.clear()

        said = page(aurora, "victor", job, "cluster-events")
        told = house.api_for(aurora, "alice").get(f"/api/v1/workloads/{job.pk}/cluster-events").json()

        assert "The image is &lt;there&gt;." in said
        assert [(each["reason"], each["about"]) for each in told["events"]] == [("Pulled", "Pod pod-1")]
        assert "Nothing of it runs now." in page(aurora, "alice", job, "pods")

    def test_a_stranger_sees_neither(self, borealis, job):
        person, api = house.client_for(borealis, "charlie"), house.api_for(borealis, "charlie")

        for part in ("pods", "cluster-events"):
            assert person.get(reverse(f"workload-{part}", args=[job.pk])).status_code == 404
            assert api.get(f"/api/v1/workloads/{job.pk}/{part}").status_code == 404


class TestAnArray:
    @pytest.fixture
    def sweep(self, aurora, clock, machine):
        asked = JobSpec(("python", "train.py"), array=ArraySpec(3, 2, (("LR", ("0.1", "<b>", "1")),)))
        made = stage.settle(aurora, stage.launch(aurora, kind="job", job=asked), machine, clock, seconds=2)
        machine.task(made.pk, 0, Phase.SUCCEEDED, 0)
        machine.task(made.pk, 1, Phase.FAILED, 9, failures=1)
        clock.pass_(seconds=10)
        return stage.settle(aurora, made, machine, clock, seconds=1)

    def test_shows_what_failed_first_with_its_variables(self, aurora, sweep):
        said = page(aurora, "alice", sweep)

        assert "2 tasks at once, each 1 H100" in said
        assert "1 done, 1 failed" in said.replace("1 waiting, ", "")
        assert said.index("Log of task 1") < said.index("Log of task 0")
        assert "<code>LR=&lt;b&gt;</code>" in said
        assert "1 try failed" in said
        assert 'id="tasks"' in page(aurora, "victor", sweep, "tasks")

    def test_the_log_of_a_task_is_kept(self, aurora, sweep):
        assert "Log of task 1" in page(aurora, "alice", sweep, task="1")
        assert ">task 1</pre>" in page(aurora, "alice", sweep, "logs", task="1")
        client = house.client_for(aurora, "alice")
        assert client.get(reverse("workload-logs", args=[sweep.pk]), {"task": "2"}).status_code == 404

    def test_a_stranger_finds_nothing(self, borealis, sweep):
        stranger = house.client_for(borealis, "charlie")

        assert stranger.get(reverse("workload-tasks", args=[sweep.pk])).status_code == 404

    def test_the_api_lists_them(self, aurora, sweep):
        client, where = house.api_for(aurora, "alice"), f"/api/v1/workloads/{sweep.pk}"

        listed = client.get(f"{where}/tasks").json()["results"]
        failed = client.get(f"{where}/tasks?outcome=failed").json()["results"]

        assert {row["index"]: row["parameters"]["LR"] for row in listed} == {0: "0.1", 1: "<b>"}
        assert [(row["index"], row["outcome"], row["exit_code"], row["failures"]) for row in failed] == [
            (1, "failed", 9, 1)
        ]
        assert client.get(f"{where}/logs?task=1").json()["lines"] == ["task 1"]
        assert client.get(where).json()["job"]["array"]["sweep"] == {"LR": ["0.1", "<b>", "1"]}


class TestAfterwards:
    def test_done_is_done_and_can_be_launched_again_by_those_who_may(self, aurora, job, clock, machine):
        machine.ends(job.pk, 0)
        done = stage.settle(aurora, job, machine, clock)

        said = page(aurora, "alice", done)

        assert done.state == State.SUCCEEDED
        assert 'class="state good">Done' in said
        assert set(BUTTON.findall(said)) == {"delete", "again"}
        assert f"/launch?again={done.pk}" in said
        assert BUTTON.findall(page(aurora, "victor", done)) == []
        assert "1 is done." in house.client_for(aurora, "alice").get("/workspaces").content.decode()

    def test_failed_offers_all_its_tries_again(self, aurora, clock, machine):
        made = stage.launch(aurora, kind="job", job=JobSpec(("python",)))
        stage.settle(aurora, made, machine, clock, seconds=2)
        machine.ends(made.pk, 137)
        failed = stage.settle(aurora, made, machine, clock)

        said = page(aurora, "alice", failed)

        assert set(BUTTON.findall(said)) == {"delete", "retry", "again"}
        assert ">137<" in said
        assert "No retries" in said


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_and_every_outcome_has_a_word(kind):
    assert kind_word(kind)
    assert all(outcome_words(outcome) for outcome in Outcome)
