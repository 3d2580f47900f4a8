"""The audit log's pages: search, one entry, saved views, exports; for whom, and at what cost."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core import audit
from core.audit_verifier import verify
from core.models import AuditEvent, AuditView
from core.sealing import seal
from core.types import ObjectRef
from tests import house
from tests.house import an_act

pytestmark = pytest.mark.django_db


def write(tenant, person, verb, ref, **words):
    with an_act(), tenant.scope():
        audit.record(tenant.actor(person), verb, ref, now=timezone.now(), **words)
        return AuditEvent.objects.latest("pk")


@pytest.fixture
def olivia(aurora):
    return house.client_for(aurora, "olivia")


def verbs_shown(client, query):
    page = client.get(f"/audit?{query}")
    assert page.status_code == 200, page.content
    return [entry.verb for entry in page.context["events"]]


class TestSearch:
    @pytest.fixture(autouse=True)
    def log(self, aurora):
        write(aurora, "alice", "workload.launched", ObjectRef("workload", "w-1", "notes"))
        write(aurora, "bob", "workload.stopped", ObjectRef("workload", "w-2", "training"))
        write(aurora, "olivia", "quota.limit_set", ObjectRef("quota", "q-1", "accelerators"))

    @pytest.mark.parametrize(
        ("query", "verbs"),
        [
            ("q=training", ["workload.stopped"]),
            ("q=NOTES", ["workload.launched"]),
            ("q=bob", ["workload.stopped"]),
            ("q=alice@aurora.example", ["workload.launched"]),
            ("q=workload+training", ["workload.stopped"]),
            ("q=workload+nothing", []),
            ("actor=Olivia", ["quota.limit_set"]),
            ("verb=workload.*", ["workload.stopped", "workload.launched"]),
            ("verb=workload.stopped", ["workload.stopped"]),
            ("verb=nothing.*", []),
            ("object=w-1", ["workload.launched"]),
            ("object_kind=quota&actor=olivia", ["quota.limit_set"]),
            ("source=api", []),
            ("outcome=denied", []),
            ("from=2099-01-01", []),
            ("to=2001-01-01", []),
            ("on_behalf_of=alice", []),
        ],
    )
    def test_narrows(self, olivia, query, verbs):
        ours = {"workload.launched", "workload.stopped", "quota.limit_set"}

        assert [verb for verb in verbs_shown(olivia, query) if verb in ours] == verbs

    def test_finds_an_id_wherever_it_stands(self, olivia, aurora):
        person = aurora.people["alice"].pk

        assert "workload.launched" in verbs_shown(olivia, f"q={person}")

    @pytest.mark.parametrize("query", ["q=%25", "q='", "verb=*", "from=never", "before=x", "q=" + "a+" * 300])
    def test_survives_odd_words(self, olivia, query):
        assert olivia.get(f"/audit?{query}").status_code == 200

    def test_answers_htmx_with_the_entries_alone(self, olivia):
        part = olivia.get("/audit?q=training", headers={"HX-Request": "true", "HX-Target": "events"})

        assert b"<html" not in part.content
        assert part.content.count(b'<tr id="event-') == 1

    def test_pages_by_key_and_costs_the_same_for_any_length(self, olivia, aurora):
        with CaptureQueriesContext(connection) as few:
            olivia.get("/audit?verb=workload.*")
        for number in range(60):
            write(aurora, "alice", "workload.launched", ObjectRef("workload", f"n-{number}"))

        with CaptureQueriesContext(connection) as many:
            first = olivia.get("/audit?verb=workload.*")
        second = olivia.get(first.context["page"]["next"])

        assert len(many) == len(few)
        assert (len(first.context["events"]), len(second.context["events"])) == (50, 12)
        assert second.context["page"]["next"] == ""
        shown = [entry.id for page in (first, second) for entry in page.context["events"]]
        assert shown == sorted(shown, reverse=True)

    def test_is_for_whom_the_log_is(self, aurora):
        assert house.client_for(aurora, "alice").get("/audit").status_code == 403


class TestEntry:
    def test_shows_everything_that_is_known(self, olivia, aurora):
        event = write(
            aurora,
            "alice",
            "quota.limit_set",
            ObjectRef("quota", str(aurora.organization.pk), "accelerators"),
            before={"limit": 8},
            after={"limit": 16},
        )

        waiting = olivia.get(f"/audit/{event.pk}").content.decode()
        while seal(aurora.organization.pk):
            pass
        page = olivia.get(f"/audit/{event.pk}")

        text = page.content.decode()
        assert "waits for its place" in waiting
        with aurora.scope():
            event.refresh_from_db()
        for word in ("quota.limit_set", "Alice", "accelerators", "limit", ">8<", ">16<", bytes(event.hash).hex()):
            assert word in text, word
        assert page.context["entry"].object_url == "/quotas"

    def test_shows_the_reason_of_a_denial_and_whom_to_ask(self, olivia, aurora):
        house.client_for(aurora, "alice").get("/audit")
        with aurora.scope():
            event = AuditEvent.objects.latest("pk")

        text = olivia.get(f"/audit/{event.pk}").content.decode()

        assert event.outcome == "denied"
        assert "This needs the permission view_audit" in text

    def test_of_another_organisation_is_not_there(self, olivia, borealis):
        event = write(borealis, "boris", "project.renamed", ObjectRef("project", "1"))

        assert olivia.get(f"/audit/{event.pk}").status_code == 404


class TestViews:
    def save(self, client, name="Stops", shared=False, query=None):
        form = {"name": name, "query": json.dumps(query or {"verb": "workload.stopped"})}
        return client.post("/audit/views", {**form, **({"shared": "on"} if shared else {})})

    def shown(self, client):
        return [view["name"] for view in client.get("/audit").context["views"]]

    def test_are_ones_own_unless_shared(self, olivia, aurora):
        house.join(aurora, "adam", "admin")
        adam = house.client_for(aurora, "adam")

        assert self.save(olivia).headers["Location"] == "/audit?verb=workload.stopped"
        self.save(olivia, "For all", shared=True)

        assert self.shown(olivia) == ["For all", "Stops"]
        assert self.shown(adam) == ["For all"]

    def test_an_auditor_may_keep_but_not_share(self, aurora):
        house.join(aurora, "audrey", "auditor")
        audrey = house.client_for(aurora, "audrey")

        assert self.save(audrey).status_code == 302
        assert self.save(audrey, "Mine", shared=True).status_code == 403

    def test_a_name_used_again_gets_the_new_filters(self, olivia, aurora):
        self.save(olivia)
        self.save(olivia, query={"q": "Bob Builder", "nonsense": "x"})

        with aurora.scope():
            view = AuditView.objects.get()
            event = AuditEvent.objects.latest("pk")
        assert view.query == {"q": "Bob Builder"}
        assert event.after == {"filters": ["q"], "shared": False}

    @pytest.mark.parametrize("query", ["", "[]", "nonsense", "{}"])
    def test_without_a_filter_is_refused(self, olivia, query):
        assert olivia.post("/audit/views", {"name": "x", "query": query}).status_code == 400

    def test_of_somebody_else_are_not_removed(self, olivia, aurora):
        house.join(aurora, "audrey", "auditor")
        audrey = house.client_for(aurora, "audrey")
        self.save(olivia)
        self.save(olivia, "For all", shared=True)
        with aurora.scope():
            own, shared = AuditView.objects.get(shared=False).pk, AuditView.objects.get(shared=True).pk

        assert audrey.post(f"/audit/views/{own}/remove").status_code == 404
        assert audrey.post(f"/audit/views/{shared}/remove").status_code == 403
        assert olivia.post(f"/audit/views/{own}/remove").status_code == 302


class TestExport:
    def read(self, response):
        assert response.status_code == 200
        return b"".join(response.streaming_content).decode()

    def test_of_everything_verifies(self, olivia, aurora):
        while seal(aurora.organization.pk):
            pass

        lines = [json.loads(line) for line in self.read(olivia.get("/audit/export?format=jsonl")).splitlines()]

        verdict = verify(lines)
        assert verdict.faults == ()
        assert verdict.sealed[str(aurora.organization.pk)] > 5
        assert lines[-1]["verb"] == "audit.exported"

    def test_holds_what_the_filters_show(self, olivia, aurora):
        write(aurora, "alice", "workload.launched", ObjectRef("workload", "w-1", "=HYPERLINK(1)"))

        response = olivia.get("/audit/export?format=csv&verb=workload.*")

        assert response.headers["Content-Disposition"].startswith('attachment; filename="audit-aurora-')
        [row] = csv.DictReader(io.StringIO(self.read(response)))
        assert (row["verb"], row["actor_name"]) == ("workload.launched", "Alice")
        assert row["object_label"] == "'=HYPERLINK(1)"

    def test_is_an_entry_itself(self, olivia, aurora):
        self.read(olivia.get("/audit/export?format=csv&actor=alice"))

        with aurora.scope():
            event = AuditEvent.objects.latest("pk")
        assert (event.verb, event.after) == ("audit.exported", {"format": "csv", "filters": ["actor"]})

    def test_reads_long_logs_a_piece_at_a_time(self, olivia, aurora, monkeypatch):
        monkeypatch.setattr("core.audit_export._AT_ONCE", 2)
        while seal(aurora.organization.pk):
            pass

        lines = self.read(olivia.get("/audit/export?format=jsonl")).splitlines()

        assert len(lines) == len({json.loads(line)["id"] for line in lines}) > 5

    def test_of_an_unknown_form_or_by_a_stranger_to_the_log_is_refused(self, olivia, aurora):
        assert olivia.get("/audit/export?format=xls").status_code == 400
        assert house.client_for(aurora, "alice").get("/audit/export?format=csv").status_code == 403
        with aurora.scope():
            event = AuditEvent.objects.latest("pk")
        assert (event.verb, event.outcome) == ("audit.exported", "denied")
