"""Audit chains are sealed once, and every way of tampering with a log is found by a file without Django."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from core import audit
from core.anchors import anchor_all, anchors, public_keys, signed
from core.audit_verifier import FIRST, hash_of, verify
from core.models import AuditEvent, Outcome
from core.sealing import chain_of, seal, seal_all, unsealed_chains
from core.types import ANONYMOUS, ObjectRef, Reason
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


@pytest.fixture
def anchors_file(settings, tmp_path):
    path = tmp_path / "anchors.jsonl"
    settings.STEELYARD = {**settings.STEELYARD, "AUDIT_ANCHORS": path}
    return path


@pytest.fixture(autouse=True)
def apart(anchors_file):
    """No test reads or writes the anchors of an installation."""


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
        case "its head deleted":
            del events[0]
        case "reordered":
            events[2], events[3] = events[3], events[2]
        case "edited":
            events[2]["verb"] = "nothing.happened"
        case "back-dated":
            events[2]["at"] = "2020-01-01T00:00:00.000000+00:00"
        case "inserted":
            events.insert(2, {**events[2], "id": "01a22dca-0000-7000-8000-000000000000"})
    return events


def rechained(events):
    """As somebody does who may write to the database and knows how hashes are made."""
    head, chain = FIRST, []
    for seq, event in enumerate(events, start=1):
        body = {**event, "seq": seq, "prev_hash": head.hex()}
        head = hash_of(head, body)
        chain.append({**body, "hash": head.hex()})
    return chain


def anchor_of(event, **words):
    return signed({"kind": "head", "at": event["at"], **{name: event[name] for name in PLACE}, **words})


PLACE = ("organization_id", "seq", "hash")


class TestVerifier:
    @pytest.mark.parametrize(
        ("how", "place"),
        [
            ("deleted", 4),
            ("its head deleted", 2),
            ("reordered", 4),
            ("edited", 3),
            ("back-dated", 3),
            ("inserted", 3),
        ],
    )
    def test_the_first_bad_entry_is_named(self, chain, how, place):
        (fault,) = verify(tampered(chain, how)).faults

        assert fault.seq == place

    def test_an_entry_that_is_chained_later_with_an_earlier_time_is_named(self, chain):
        late = {**chain[-1], "id": "01a22dca-0000-7000-8000-000000000000", "at": "2020-01-01T00:00:00.000000+00:00"}

        (fault,) = verify(rechained([*chain, late, chain[-1]])).faults

        assert (fault.seq, fault.event_id) == (len(chain) + 1, late["id"])
        assert fault.what.startswith("is back-dated")

    def test_acts_that_ran_side_by_side_may_be_chained_in_either_order(self, chain):
        before = datetime.fromisoformat(chain[-1]["at"]) - timedelta(minutes=14)

        assert verify(rechained([*chain, {**chain[-1], "at": before.isoformat()}])).faults == ()

    def test_a_back_dated_entry_does_not_hide_one_that_was_changed_after_it(self, chain):
        events = rechained([{**chain[0], "at": "2099-01-01T00:00:00+00:00"}, *chain[1:]])
        events[3]["verb"] = "nothing.happened"

        assert [fault.seq for fault in verify(events).faults] == [4, 2]


class TestAnchors:
    def test_finds_a_log_whose_end_was_cut_off(self, chain):
        (fault,) = verify(chain[:-2], [anchor_of(chain[-1])]).faults

        assert verify(chain[:-2]).faults == ()
        assert (fault.seq, fault.what) == (len(chain), "is missing: the end of the log was cut off")

    def test_finds_a_chain_that_was_rewritten_as_a_whole(self, chain):
        rewritten = rechained([*chain[:2], {**chain[2], "verb": "nothing.happened"}, *chain[3:]])

        assert verify(rewritten).faults == ()
        (fault,) = verify(rewritten, [anchor_of(chain[-1])]).faults
        assert fault.what.startswith("was rewritten")

    def test_finds_an_entry_that_claims_a_time_before_an_anchor_that_lacks_it(self, chain):
        """In a quiet chain nothing else bounds its time."""
        later = datetime.fromisoformat(chain[-1]["at"]) + timedelta(days=1)
        claimed = rechained([*chain, {**chain[-1], "at": (later - timedelta(hours=2)).isoformat()}])

        assert verify(claimed).faults == ()
        (fault,) = verify(claimed, [anchor_of(chain[-1], at=later.isoformat())]).faults
        assert (fault.seq, fault.what.startswith("is back-dated")) == (len(chain) + 1, True)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"at": "2020-01-01T00:00:00+00:00"}, "signature that does not fit"),
            ({"signature": ""}, "is not signed"),
            ({"key": "00" * 32}, "another key"),
        ],
    )
    def test_one_that_we_did_not_sign_is_named(self, chain, change, words):
        (fault,) = verify(chain, [{**anchor_of(chain[-1]), **change}], keys=public_keys()).faults

        assert words in fault.what

    def test_are_written_once_a_day_for_every_chain_and_hold(self, chain, aurora, anchors_file):
        now = timezone.now()
        refused = Reason("wrong_credentials", "No.")
        audit.record_refusal(
            ANONYMOUS,
            "person.signed_in",
            ObjectRef("person", "unknown"),
            outcome=Outcome.DENIED,
            reason=refused,
            now=now,
        )

        written = anchor_all(now=now)

        assert written == 2  # aurora's and the platform's
        assert anchor_all(now=now) == 0
        assert anchor_all(now=now + timedelta(days=1)) == written
        lines = [line for line in anchors() if line["organization_id"] == str(aurora.organization.pk)]
        assert [line["seq"] for line in lines] == [len(chain)] * 2
        verdict = verify(chain, lines, keys=public_keys())
        assert (verdict.faults, verdict.keys, verdict.unchecked) == ((), tuple(public_keys()), 0)
        assert anchors_file.stat().st_mode & 0o777 == 0o600

    def test_the_command_notices_a_tail_that_is_gone(self, chain, aurora, anchors_file):
        call_command("anchor_audit", stdout=StringIO())
        with connection.cursor() as cursor:  # as somebody with the owner's rights could
            cursor.execute("ALTER TABLE core_auditevent DISABLE TRIGGER USER")
            cursor.execute(
                "DELETE FROM core_auditevent WHERE organization_id = %s AND seq = %s",
                [chain[0]["organization_id"], len(chain)],
            )
            cursor.execute("ALTER TABLE core_auditevent ENABLE TRIGGER USER")
        errors = StringIO()

        with pytest.raises(CommandError, match="1 chains are broken"):
            call_command("verify_audit", stderr=errors, stdout=StringIO())

        assert f"entry {len(chain)} : is missing: the end of the log was cut off" in errors.getvalue()

    def test_the_command_shows_the_public_key(self):
        out = StringIO()

        call_command("anchor_audit", "--public-key", stdout=out)

        assert out.getvalue().strip() == public_keys()[0]


class TestOneFile:
    def test_it_runs_as_one_file_without_django(self, chain, tmp_path):
        verifier = Path(settings.BASE_DIR) / "core" / "audit_verifier.py"
        (tmp_path / "verify.py").write_text(verifier.read_text())
        (tmp_path / "anchors.jsonl").write_text(json.dumps(anchor_of(chain[-1])))
        (tmp_path / "log.jsonl").write_text("".join(json.dumps(event) + "\n" for event in chain))

        done = subprocess.run(
            [sys.executable, "-I", "-S", "verify.py", "log.jsonl", "anchors.jsonl", "--key", public_keys()[0]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

        assert done.returncode == 0, done.stderr
        assert f"{len(chain)} entries hold" in done.stdout
        assert "1 signatures are not checked" in done.stdout
