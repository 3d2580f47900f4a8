"""The audit log by API: filters, export, views, streams."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.utils import timezone

from core import audit
from core.audit_verifier import verify
from core.sealing import seal
from core.types import ObjectRef
from tests import house
from tests.api.ask import is_problem, send
from tests.house import an_act
from tests.proof import stream

pytestmark = pytest.mark.django_db
EVENTS = "/api/v1/audit-events"


@pytest.fixture
def olivia(aurora):
    with an_act(), aurora.scope():
        ref = ObjectRef("workload", "w-1", "notes")
        audit.record(aurora.actor("alice"), "workload.launched", ref, now=timezone.now())
    while seal(aurora.organization.pk):
        pass
    return house.api_for(aurora, "olivia")


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("verb=workload.*", 1),
        ("verb=workload.launched", 1),
        ("verb=workload.stopped", 0),
        ("q=alice+notes", 1),
        ("q=notes&object_kind=quota", 0),
        ("object=w-1&source=command", 1),
        ("object=w-1&source=api", 0),
        ("object=w-1&from=2099-01-01T00:00:00Z", 0),
        ("object=w-1&to=2099-01-01T00:00:00%2B02:00", 1),
    ],
)
def test_filters_narrow(olivia, query, count):
    found = olivia.get(f"{EVENTS}?{query}").json()

    assert len(found["results"]) == count, found


def test_one_event_tells_its_place(olivia):
    [listed] = olivia.get(f"{EVENTS}?object=w-1").json()["results"]

    shown = olivia.get(f"{EVENTS}/{listed['id']}").json()

    assert shown == listed
    assert shown["seq"] > 1
    assert len(shown["hash"]) == 64


def test_an_export_verifies_and_is_an_event(olivia):
    response = olivia.get(f"{EVENTS}/export", headers={"Accept": "application/jsonl"})

    lines = [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]
    assert verify(lines).faults == ()
    assert lines[-1]["verb"] == "audit.exported"


def test_an_export_is_csv_on_demand(olivia):
    response = olivia.get(f"{EVENTS}/export?format=csv&object=w-1")

    [row] = csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode()))
    assert (row["verb"], row["actor_name"]) == ("workload.launched", "Alice")
    is_problem(olivia.get(f"{EVENTS}/export?format=xls"), 400, "invalid")


def test_an_export_is_for_whom_the_log_is(aurora):
    is_problem(house.api_for(aurora, "alice").get(f"{EVENTS}/export"), 403, "permission_denied")


def test_a_streams_secret_is_told_once_and_kept_from_replays(aurora, olivia):
    body = {"name": "siem", "url": "https://siem.example/in"}
    made = send(olivia, "post", "/api/v1/audit-streams", body, Idempotency_Key="one")
    again = send(olivia, "post", "/api/v1/audit-streams", body, Idempotency_Key="one")

    assert made.json()["secret"].startswith("whsec_")
    assert "secret" not in again.json()
    assert "secret" not in olivia.get(f"/api/v1/audit-streams/{made.json()['id']}").json()


def test_a_change_against_an_older_version_is_stale(aurora, olivia):
    path = f"/api/v1/audit-streams/{stream(aurora).pk}"

    assert send(olivia, "patch", path, {"enabled": False}, If_Match='"1"').json()["state"] == "off"
    is_problem(send(olivia, "patch", path, {"enabled": True}, If_Match='"1"'), 412, "stale")


def test_keeping_is_told_and_set(olivia):
    assert olivia.get("/api/v1/audit-keeping").json()["keep_days"] is None
    assert send(olivia, "put", "/api/v1/audit-keeping", {"keep_days": 400}).json()["keep_days"] == 400
    is_problem(send(olivia, "put", "/api/v1/audit-keeping", {"keep_days": 3}), 400, "invalid")
