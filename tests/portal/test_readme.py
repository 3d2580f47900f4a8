"""The commands of the README and of the page on jobs run as they stand, against a platform as `make up` starts it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from tests import platform

ROOT = Path(settings.BASE_DIR)
DOCUMENTS = ("README.md", "docs/jobs.md")
pytestmark = [pytest.mark.platform, pytest.mark.slow]


@pytest.fixture(scope="module")
def answers():
    """What each curl of the documents printed, by the first words of its comment."""
    with platform.running() as running:
        variables = os.environ | {"STEELYARD_STATE": str(running.state)}
        told: dict[str, str] = {}
        for document in DOCUMENTS:
            told |= told_by(document, variables)
        yield told


def told_by(document, variables):
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
    block = next(found for found in blocks if "curl" in found)
    setting_up, *steps = re.split(r"^# ", block, flags=re.MULTILINE)
    told = {}
    for step in steps:
        comment, commands = step.split("\n", 1)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", setting_up + commands],
            cwd=ROOT,
            env=variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, (comment, done.stderr)
        told[comment] = json.loads(done.stdout)
    return told


def answer(answers, words):
    return next(told for comment, told in answers.items() if words in comment)


class TestReadme:
    def test_what_is_offered_has_a_price(self, answers):
        shapes = answer(answers, "What is offered")["results"]

        h100 = next(shape for shape in shapes if shape["slug"] == "1x-h100")
        assert h100["price_per_hour"] == {"amount": "2.95", "currency": "USD"}

    def test_a_dry_run_says_what_a_launch_would(self, answers):
        verdict = answer(answers, "What would a launch say")

        assert "reasons" in json.dumps(verdict)

    def test_a_launch_is_accepted_and_listed(self, answers):
        launched = answer(answers, "Launch it")
        listed = answer(answers, "What runs")["results"]

        assert launched["name"] == "from-curl"
        assert [workload["name"] for workload in listed] == ["from-curl"]

    def test_one_of_them_tells_its_cost_and_its_stop(self, answers):
        told = answer(answers, "One of them")

        assert told["cost"]["so_far"]["currency"] == "USD"
        assert "will_stop_at" in told

    def test_costs_have_a_total(self, answers):
        assert answer(answers, "What the month costs")["total"]["currency"] == "USD"


class TestJobs:
    def test_a_job_is_accepted_and_its_attempts_are_told(self, answers):
        launched = answer(answers, "Train on two workers")
        attempts = answer(answers, "The attempts of the newest job")["results"]

        assert (launched["kind"], launched["job"]["workers"], launched["job"]["success_codes"]) == ("job", 2, [0])
        assert all(attempt["number"] >= 1 for attempt in attempts)
