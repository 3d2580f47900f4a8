"""Audit chains are sealed once, and every way of tampering with a log is found by a file without Django."""

from __future__ import annotations

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from core import audit
from core.audit_verifier import verify
from core.models import AuditEvent
from core.sealing import chain_of, seal, seal_all, unsealed_chains
from core.types import ObjectRef
from tests.house import an_act

pytestmark = pytest.mark.django_db


@pytest.fixture
def chain(aurora):
    """Aurora's whole chain, sealed, as it is exported."""
    for number in range(5):
        with an_act(), aurora.scope():
            ref = ObjectRef("project", str(number), "café")
            audit.record(aurora.actor("olivia"), "project.renamed", ref, now=timezone.now(), after={"n": number})
    while seal(aurora.organization.pk):
        pass
    with aurora.scope():
        return list(chain_of(aurora.organization.pk))


class TestSealing:
    def test_every_event_has_one_place_and_follows_the_one_before(self, chain):
        assert [event["seq"] for event in chain] == list(range(1, len(chain) + 1))
        assert verify(chain).faults == ()

    def test_a_second_round_changes_nothing(self, chain, aurora):
        assert seal(aurora.organization.pk) == 0
        assert aurora.organization.pk not in unsealed_chains()

    def test_a_sealed_event_can_not_be_changed_in_the_database(self, chain, aurora):
        with pytest.raises(Exception, match=r"set once|do not change"), aurora.scope():
            AuditEvent.objects.filter(seq=1).update(hash=b"0" * 32)

    def test_each_organisation_has_a_chain_of_its_own(self, chain, aurora, borealis):
        seal_all()

        with borealis.scope():
            mine = list(chain_of(borealis.organization.pk))
        assert mine[0]["seq"] == 1
        assert verify([*chain, *mine]).faults == ()

    def test_the_command_names_the_first_bad_entry(self, chain, aurora):
        with connection.cursor() as cursor:  # as somebody with the owner's rights could
            cursor.execute("ALTER TABLE core_auditevent DISABLE TRIGGER seal_once")
            cursor.execute(
                "UPDATE core_auditevent SET verb = 'nothing.happened' WHERE organization_id = %s AND seq = 3",
                [aurora.organization.pk],
            )
            cursor.execute("ALTER TABLE core_auditevent ENABLE TRIGGER seal_once")

        errors = StringIO()
        with pytest.raises(Exception, match="broken"):
            call_command("verify_audit", stderr=errors, stdout=StringIO())

        assert "entry 3" in errors.getvalue()
        assert "changed after it was sealed" in errors.getvalue()


def tampered(chain, how):
    events = [dict(event) for event in chain]
    match how:
        case "deleted":
            del events[2]
        case "reordered":
            events[2], events[3] = events[3], events[2]
        case "edited":
            events[2]["verb"] = "nothing.happened"
        case "back-dated":
            events[2]["at"] = "2020-01-01T00:00:00.000000+00:00"
        case "inserted":
            events.insert(2, {**events[2], "id": "01a22dca-0000-7000-8000-000000000000"})
    return events


class TestVerifier:
    @pytest.mark.parametrize(
        ("how", "place"), [("deleted", 4), ("reordered", 4), ("edited", 3), ("back-dated", 3), ("inserted", 3)]
    )
    def test_the_first_bad_entry_is_named(self, chain, how, place):
        (fault,) = verify(tampered(chain, how)).faults

        assert fault.seq == place

    def test_an_anchor_finds_a_log_whose_end_was_cut_off(self, chain):
        anchor = {name: chain[-1][name] for name in ("organization_id", "seq", "hash")}

        assert verify(chain[:-2]).faults == ()
        assert verify(chain[:-2], [anchor]).faults[0].what == "is missing: the end of the log was cut off"

    def test_it_runs_as_one_file_without_django(self, chain, tmp_path):
        verifier = Path(settings.BASE_DIR) / "core" / "audit_verifier.py"
        (tmp_path / "verify.py").write_text(verifier.read_text())
        (tmp_path / "log.jsonl").write_text("".join(json.dumps(event) + "\n" for event in chain))

        done = subprocess.run(
            [sys.executable, "-I", "-S", "verify.py", "log.jsonl"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

        assert done.returncode == 0, done.stderr
        assert f"{len(chain)} entries hold" in done.stdout
