"""The launch form of a job: what it shows, what it refuses, what it makes."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core.management import call_command

from provisioning.models import Workload
from provisioning.types import ArraySpec, JobSpec
from tests import house
from tests.provisioning import stage

pytestmark = pytest.mark.django_db

FORM = {
    "project": "vision",
    "image": "jupyterlab",
    "name": "train",
    "disk_gib": "10",
    "kind": "job",
    "shape": "h100-1",
    "command": "python 'my train.py'",
    "workers": "2",
    "retries": "3",
    "hours": "1",
    "minutes": "30",
    "success_codes": "0, 3",
    "fatal_codes": "2",
    "env": "SEED=7\nNOTE=a=b ",
}

WRONG = [
    ({"command": "  "}, "A job needs a command."),
    ({"command": "echo 'a"}, "A quote is opened and not closed."),
    ({"command": "''"}, "A job needs a command."),
    ({"command": "x " * 201}, "At most 200 words"),
    ({"retries": "21"}, "0 to 20 retries."),
    ({"hours": "0", "minutes": "0"}, "10 seconds to 90 days."),
    ({"hours": "3000"}, "10 seconds to 90 days."),
    ({"success_codes": ""}, "Name at least one exit code"),
    ({"success_codes": "zero"}, "Exit codes are whole numbers"),
    ({"fatal_codes": "256"}, "Exit codes are 0 to 255."),
    ({"fatal_codes": "3"}, "3 cannot be success and failure."),
    ({"workers": "two"}, "Workers: Enter a whole number."),
]


@pytest.fixture(autouse=True)
def shop(db):
    stage.open_shop()


def panel(tenant, **changes):
    answer = house.client_for(tenant, "alice").get("/launch/panel", FORM | changes)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


class TestPanel:
    def test_shows_the_words_the_price_of_all_workers_and_what_an_attempt_may_cost(self, aurora):
        said = panel(aurora)

        assert "<code>python</code>" in said
        assert "<code>my train.py</code>" in said
        assert "2 workers, all at once; tried up to 4 times." in said
        assert "$5.90" in said  # 2 × 2.95 an hour
        assert "An attempt of 1 h 30 min" in said
        assert "$8.85" in said  # 1.5 h of 2 × 2.95 and a disk of 10 GiB at 0.0001

    def test_counts_every_worker_against_the_quota(self, aurora):
        said = panel(aurora, workers="300000")

        assert "less than or equal to 100000" in said
        assert "A job has 1 to 256 workers." in panel(aurora, workers="257")
        assert "A job has 1 to 256 workers." in panel(aurora, workers="0")
        assert "Cannot be launched" in panel(aurora, workers="256")

    def test_says_what_cannot_be_meant(self, aurora):
        unsaid = [says for changes, says in WRONG if says not in panel(aurora, **changes)]

        assert unsaid == []

    def test_asks_no_workspace_for_a_command(self, aurora):
        nothing = dict.fromkeys(("command", "workers", "retries", "success_codes"), "")

        assert "Starts now" in panel(aurora, **nothing, kind="workspace")


class TestSweeps:
    """Many tasks of one command."""

    ASKED = FORM | {"workers": "1", "success_codes": "0", "sweep": "SEED=1, 2, 3\nLR=0.1, 0.01", "parallelism": "2"}

    def test_are_counted_and_priced_by_how_many_run_at_once(self, aurora):
        said = panel(aurora, **self.ASKED)

        assert "6 tasks, 2 at once; each tried up to 4 times." in said
        assert "Hardware of 2 tasks at once" in said
        assert "$5.90" in said  # 2 × 2.95 an hour

    def test_say_what_cannot_be_meant(self, aurora):
        assert "The sweep has 6 combinations" in panel(aurora, **self.ASKED | {"tasks": "5"})
        assert "is not NAME=value, value." in panel(aurora, **self.ASKED | {"sweep": "LR"})
        assert "one worker each" in panel(aurora, **self.ASKED | {"workers": "2"})
        assert "An array has 1 to 1,000 tasks." in panel(aurora, **self.ASKED | {"sweep": "", "tasks": "1001"})

    def test_make_the_array_that_was_typed_and_fill_the_form_again(self, aurora):
        client = house.client_for(aurora, "alice")
        assert client.post("/launch", self.ASKED | {"stop_at_first_failure": "on"}).status_code == 302

        with aurora.scope():
            made = Workload.objects.get()
        again = client.get(f"/launch?again={made.pk}").content.decode()

        assert made.job is not None
        assert made.job.array == ArraySpec(6, 2, (("LR", ("0.1", "0.01")), ("SEED", ("1", "2", "3"))), True)
        assert "LR=0.1,0.01\nSEED=1,2,3" in again
        assert re.search(r'name="parallelism" value="2"', again)


class TestClusters:
    def test_are_offered_where_there_is_an_image_for_one(self, aurora):
        client = house.client_for(aurora, "alice")
        assert "Dask cluster" not in client.get("/launch").content.decode()
        call_command("offer_image", "ray", "registry.example/ray:2", "--label", "Ray", "--kind", "ray")

        page = client.get("/launch?kind=cluster").content.decode()
        assert re.search(r'value="cluster"[^>]*checked', page)
        assert re.search(r'value="ray"[^>]*selected', page)
        assert "A cluster has 1 to 64 nodes." in panel(aurora, kind="cluster", image="ray", nodes="65", command="")
        assert "does not run a cluster" in panel(aurora, kind="cluster", nodes="2", command="")


class TestLaunch:
    def test_makes_the_job_that_was_typed(self, aurora):
        answer = house.client_for(aurora, "alice").post("/launch", FORM)

        assert answer.status_code == 302
        with aurora.scope():
            made = Workload.objects.get()
        assert made.env == {"SEED": "7", "NOTE": "a=b "}
        assert made.job == JobSpec(
            command=("python", "my train.py"),
            workers=2,
            retries=3,
            max_duration=timedelta(minutes=90),
            success_codes=(0, 3),
            fatal_codes=(2,),
        )

    def test_that_cannot_be_meant_keeps_what_was_typed_and_says_why_at_the_field(self, aurora):
        answer = house.client_for(aurora, "alice").post("/launch", FORM | {"workers": "257", "env": "=x"})
        again = house.client_for(aurora, "alice").post("/launch", FORM | {"workers": "257"})

        page = answer.content.decode()
        assert answer.status_code == again.status_code == 400
        assert "Line 1 is not NAME=value." in page
        assert "python &#x27;my train.py&#x27;" in page
        assert 'id="id_workers_error"' in again.content.decode()

    def test_a_fresh_form_asks_for_a_command_without_a_reproach(self, aurora):
        page = house.client_for(aurora, "alice").get("/launch?kind=job").content.decode()

        assert re.search(r'value="job"[^>]*checked', page)
        assert "id_command_error" not in page
        assert 'value="job"' in page
        assert 'data-proposes="notebook"' in page

    def test_again_fills_the_form_and_hides_the_variables_from_everybody_but_their_owner(self, aurora):
        house.client_for(aurora, "alice").post("/launch", FORM)
        with aurora.scope():
            made = Workload.objects.get().pk

        mine = house.client_for(aurora, "alice").get(f"/launch?again={made}").content.decode()
        theirs = house.client_for(aurora, "bob").get(f"/launch?again={made}").content.decode()

        for page in (mine, theirs):
            assert "python &#x27;my train.py&#x27;" in page
            assert re.search(r'name="workers" value="2"', page)
            assert re.search(r'name="minutes" value="30"', page)
        assert "SEED=7" in mine
        assert "SEED=7" not in theirs

    @pytest.mark.parametrize("asked", ["0199aa00-0000-7000-8000-000000000001", "nonsense"])
    def test_of_what_nobody_knows_is_the_usual_form(self, aurora, asked):
        assert house.client_for(aurora, "alice").get(f"/launch?again={asked}").status_code == 200
