"""The pages around the audit log: streams, proof, how long it is kept, the platform's own."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from django.utils import timezone

from core.anchors import anchor_all, public_keys
from core.models import AuditEvent, AuditRetention, AuditStream
from core.sealing import seal
from tests import house
from tests.proof import stream

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def anchors_apart(settings, tmp_path):
    settings.STEELYARD = {**settings.STEELYARD, "AUDIT_ANCHORS": tmp_path / "anchors.jsonl"}


@pytest.fixture
def olivia(aurora):
    return house.client_for(aurora, "olivia")


@pytest.fixture
def audrey(aurora):
    house.join(aurora, "audrey", "auditor")
    return house.client_for(aurora, "audrey")


def fresh(tenant):
    with tenant.scope():
        return AuditStream.objects.get()


class TestStreams:
    def test_the_secret_is_shown_once(self, olivia, aurora):
        made = olivia.post("/audit/streams/new", {"name": "siem", "url": "https://siem.example/in"})

        secret = re.search(r"whsec_[A-Za-z0-9+/=]+", made.content.decode())
        assert made.status_code == 200
        assert secret
        assert secret[0] not in olivia.get("/audit/streams").content.decode()
        rotated = olivia.post(f"/audit/streams/{fresh(aurora).pk}/rotate").content.decode()
        assert "whsec_" in rotated
        assert secret[0] not in rotated

    @pytest.mark.parametrize(
        "url", ["http://siem.example/in", "https://user:word@siem.example/", "ftp://x", "", "https://" + "a" * 600]
    )
    def test_an_address_that_cannot_be_is_refused_with_the_reason(self, olivia, url):
        response = olivia.post("/audit/streams/new", {"name": "siem", "url": url})

        assert response.status_code == 400
        assert "No stream was made" in response.content.decode()

    def test_a_sixth_is_refused(self, olivia, aurora):
        for number in range(5):
            stream(aurora, name=f"siem {number}")

        response = olivia.post("/audit/streams/new", {"name": "one more", "url": "https://siem.example/in"})

        assert response.status_code == 409
        assert "There are 5 streams already" in response.content.decode()

    def test_are_switched_changed_tested_and_removed(self, olivia, aurora):
        pk = stream(aurora).pk

        olivia.post(f"/audit/streams/{pk}/switch", {})
        assert not fresh(aurora).enabled
        assert olivia.post(f"/audit/streams/{pk}/test").status_code == 409
        olivia.post(f"/audit/streams/{pk}/switch", {"enabled": "on"})
        olivia.post(f"/audit/streams/{pk}/change", {"name": "lake", "url": "https://lake.example/in"})
        assert (fresh(aurora).name, fresh(aurora).url, fresh(aurora).version) == ("lake", "https://lake.example/in", 4)
        olivia.post(f"/audit/streams/{pk}/test")
        with aurora.scope():
            assert AuditEvent.objects.latest("pk").verb == "audit_stream.tested"
        olivia.post(f"/audit/streams/{pk}/remove")
        assert "No streams" in olivia.get("/audit/streams").content.decode()

    def test_tell_why_they_do_not_work_and_when_they_try_again(self, olivia, aurora):
        stream(aurora)
        with aurora.scope():
            AuditStream.objects.update(
                failures=3, last_error="siem.example answered 503.", failing_since=timezone.now()
            )

        text = olivia.get("/audit/streams").content.decode()

        assert "Trying again" in text
        assert "siem.example answered 503. Next try" in text

    def test_answer_htmx_with_the_part_alone(self, olivia, aurora):
        stream(aurora)

        part = olivia.get("/audit/streams", headers={"HX-Request": "true", "HX-Target": "streams"}).content

        assert b"<html" not in part
        assert b"siem" in part

    def test_are_an_auditors_to_see_and_not_to_change(self, audrey, aurora):
        pk = stream(aurora).pk

        page = audrey.get("/audit/streams")

        assert page.status_code == 200
        assert b"Remove" not in page.content
        assert audrey.post(f"/audit/streams/{pk}/remove").status_code == 403
        assert house.client_for(aurora, "alice").get("/audit/streams").status_code == 403


class TestKeeping:
    def test_is_set_and_shown(self, olivia, aurora):
        assert "For ever." in olivia.get("/audit/keeping").content.decode()

        olivia.post("/audit/keeping/set", {"keep_days": "400"})
        assert "400 days" in olivia.get("/audit/keeping").content.decode()
        olivia.post("/audit/keeping/set", {"keep_days": ""})

        with aurora.scope():
            event = AuditEvent.objects.latest("pk")
            assert not AuditRetention.objects.exists()
        assert (event.before, event.after) == ({"keep_days": 400}, {"keep_days": None})

    @pytest.mark.parametrize("days", ["29", "0", "-1", "x", "999999", "1.5"])
    def test_refuses_what_can_not_be_meant(self, olivia, days):
        assert olivia.post("/audit/keeping/set", {"keep_days": days}).status_code == 400

    def test_shows_the_anchor_and_the_key(self, olivia, aurora):
        anchor_all(now=timezone.now())

        text = olivia.get("/audit/keeping").content.decode()

        assert public_keys()[0] in text
        assert "none yet" not in text

    def test_is_an_auditors_to_see_and_not_to_change(self, audrey):
        assert audrey.get("/audit/keeping").status_code == 200
        assert audrey.post("/audit/keeping/set", {"keep_days": "400"}).status_code == 403

    def test_the_way_that_the_page_shows_works(self, olivia, aurora, tmp_path):
        while seal(aurora.organization.pk):
            pass
        (tmp_path / "v.py").write_bytes(olivia.get("/audit/verifier.py").content)
        export = olivia.get("/audit/export?format=jsonl")
        (tmp_path / "audit.jsonl").write_bytes(b"".join(export.streaming_content))

        words = [sys.executable, "-I", "v.py", "audit.jsonl"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False)

        assert (done.returncode, "entries hold" in done.stdout) == (0, True), done.stderr


class TestConsole:
    @pytest.fixture
    def paula(self, aurora):
        """She audits the platform, and belongs to aurora as a developer."""
        user = house.join(aurora, "paula", "developer", projects=("vision",))
        user.platform_role = "platform_auditor"
        user.save(update_fields=["platform_role"])
        return house.client_for(aurora, "paula")

    def test_shows_the_platforms_own_chain_first_and_keeps_who_looked(self, paula, aurora):
        paula.get("/console/audit")

        page = paula.get("/console/audit")

        assert page.status_code == 200, page.content
        entry = page.context["events"][0]
        assert (entry.verb, entry.actor) == ("audit.viewed", "Paula")

    def test_shows_anybodys(self, paula, borealis):
        page = paula.get("/console/audit?chain=borealis&verb=membership.*")

        verbs = {entry.verb for entry in page.context["events"]}
        assert verbs == {"membership.granted"}
        assert "chain=borealis" in page.context["exports"][0]["url"]
        shown = paula.get(page.context["events"][0].url)
        assert shown.status_code == 200
        assert b"membership.granted" in shown.content

    def test_exports_anybodys_and_says_so_in_the_platforms_chain(self, paula, borealis):
        response = paula.get("/console/audit/export?chain=borealis&format=csv")

        assert "membership.granted" in b"".join(response.streaming_content).decode()
        entry = paula.get("/console/audit?verb=audit.exported").context["events"][0]
        assert entry.object == f"audit {borealis.organization.pk}"

    def test_is_not_there_for_anybody_else(self, olivia, paula):
        for path in ("/console/audit", "/console/audit/export?format=csv"):
            assert olivia.get(path).status_code == 404
        assert paula.get("/console/audit?chain=nobodys").status_code == 404
