"""A request in words: what changes, from what to what; what its title says already is not said again."""

from __future__ import annotations

import pytest

from portal.web.approvals_shown import facts_of
from tests import house
from tests.governed import asked

QUOTA = {"level": "project", "place": "vision", "resource": "vcpus", "limit_before": 8, "limit": 1600}
MOVE = {"project": "vision", "from": "small", "to": "no team", "may_hold_vcpus": "4 → 16", "to_team_id": None}


@pytest.mark.parametrize(
    ("kind", "payload", "told"),
    [
        ("quota", {**QUOTA, "until": None}, [("Limit", "8 → 1,600")]),
        (
            "quota",
            {**QUOTA, "until": "2026-12-04T09:30:00+00:00"},
            [("Limit", "8 → 1,600"), ("Until", "4 Dec 2026, 09:30")],
        ),
        ("quota", {**QUOTA, "until": "soon"}, [("Limit", "8 → 1,600"), ("Until", "soon")]),
        ("move", MOVE, [("Team", "small → no team"), ("May hold vcpus", "4 → 16")]),
        ("launch", {"shape": "h100-1", "disk_gib": 20}, [("Disk", "20 GiB")]),
        ("quota", {}, []),
    ],
)
def test_facts_say_what_changes(kind, payload, told):
    assert [(fact.label, fact.text) for fact in facts_of(kind, payload)] == told


@pytest.mark.django_db
def test_whoever_stands_behind_a_request_is_told_that_others_decide(aurora):
    found = asked(aurora, operator_id=aurora.people["olivia"].pk)

    page = house.client_for(aurora, "olivia").get("/approvals").content.decode()

    assert "others decide: you could have had it asked for" in page
    assert f"approve-{found.pk}" not in page
