"""Fifty people press Launch in the same instant, twenty times."""

from __future__ import annotations

from collections import Counter

import pytest
from django.utils import timezone

from provisioning.errors import NotAdmitted
from provisioning.models import Workload
from provisioning.services.catalogue import ShapeOffer
from tenants.selectors import quota_lines
from tests import house
from tests.provisioning.stage import CPU, launch, offer_shape
from tests.provisioning.test_at_once import at_once

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("shop")]
RUNS, PEOPLE, QUOTA = 20, 50, 10
REFUSED = ("over_quota", "workloads", 1, QUOTA, QUOTA)


def test_fifty_launches_against_a_quota_of_ten_admit_ten_and_refuse_forty_in_each_of_twenty_runs(aurora):
    offer_shape(ShapeOffer("tiny", "Tiny", None, 0, 1, 1, CPU, 1))
    outcomes: Counter[frozenset[tuple[object, int]]] = Counter()
    for run in range(RUNS):
        name = f"run-{run}"
        aurora.projects[name] = house._project(aurora.organization, name, timezone.now())

        def ask(_, name=name):
            try:
                launch(aurora, "olivia", project=name, shape="tiny", disk_gib=1)
            except NotAdmitted as refusal:
                [reason] = refusal.reasons
                return (reason.code, reason.resource, reason.asked, reason.used, reason.limit)
            return "admitted"

        outcomes[frozenset(Counter(at_once(PEOPLE, ask)).items())] += 1
        with aurora.scope():
            assert quota_lines(aurora.projects[name].pk)["workloads"].used == QUOTA
            assert Workload.objects.filter(project=aurora.projects[name]).count() == QUOTA

    assert outcomes == {frozenset({(REFUSED, PEOPLE - QUOTA), ("admitted", QUOTA)}): RUNS}
