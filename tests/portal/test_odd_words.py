"""Words that nobody means: each gets a clear answer, never a crash, and a denial stays in the log."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from django.test import override_settings

from core import audit, scope
from core.errors import NotFound
from core.models import AuditEvent, Outcome
from core.refusals import refusal_of
from portal import settings as portal_settings
from tests import house
from tests.provisioning import stage

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "address",
    [
        "/usage?month=%00",
        "/usage.csv?month=%00",
        "/invoice?month=%00",
        "/workspaces?project=%00",
        "/audit?actor=%00",
        "/audit?verb=%00",
        "/quotas/%00",
    ],
)
def test_a_nul_in_an_address_of_a_page_is_a_400(aurora, address):
    assert house.client_for(aurora, "olivia").get(address).status_code == 400


@pytest.mark.parametrize("address", ["invoices/%00", "invoices/2026-11%00/lines", "invoices/%00.csv"])
def test_a_nul_in_an_address_of_the_api_is_a_problem(aurora, address):
    answer = house.api_for(aurora, "olivia").get(f"/api/v1/{address}")

    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")


@pytest.mark.parametrize(
    ("address", "form"),
    [
        ("/console/found", {"name": "a\0b"}),
        ("/audit/streams/0199aa00-0000-7000-8000-000000000001/change", {"name": "\0", "url": "https://siem.example/"}),
        ("/tokens", {"name": "fine", "sco\0pes": "x"}),
        ("/accounts/login/", {"login": "a\0@x.example", "password": "x"}),
    ],
)
@pytest.mark.parametrize("kind", ["multipart", "urlencoded"])
def test_a_nul_in_a_form_is_a_400(aurora, address, form, kind):
    browser = house.client_for(aurora, "olivia")
    if kind == "multipart":
        answer = browser.post(address, form)
    else:
        answer = browser.post(address, urlencode(form), content_type="application/x-www-form-urlencoded")

    assert answer.status_code == 400


@pytest.mark.parametrize("month", ["0001-01", "0000-05", "9999-12", "2026-13", "zzz"])
@pytest.mark.parametrize("page", ["/usage", "/usage.csv", "/invoice"])
def test_a_month_that_is_none_is_a_404(aurora, page, month):
    assert house.client_for(aurora, "olivia").get(f"{page}?month={month}").status_code == 404


def test_a_denial_is_kept_whatever_was_asked_for(aurora):
    refusal = refusal_of(NotFound("invoice", "a\0b" * 200))
    assert refusal is not None
    with house.an_act():
        audit.record_refusal(
            aurora.actor("olivia"),
            "invoice.viewed",
            refusal.ref,
            outcome=Outcome.DENIED,
            reason=refusal.reason,
            now=aurora.organization.created_at,
        )

    with scope.of_organization(aurora.organization.pk):
        assert AuditEvent.objects.get(verb="invoice.viewed").object_id.startswith("a\N{REPLACEMENT CHARACTER}b")


def test_a_name_that_is_taken_leaves_the_prices_standing(aurora):
    from_another_tab = {"project": "vision", "image": "jupyterlab", "name": "mine", "disk_gib": 1, "kind": "workspace"}
    stage.open_shop()
    client = house.client_for(aurora, "alice")
    form = {**from_another_tab, "shape": "cpu-4"}
    assert client.post("/launch", {**form, "idempotency_key": "one"}).status_code == 302

    answer = client.post("/launch", {**form, "idempotency_key": "two"})

    assert answer.status_code == 409
    assert "mine" in answer.content.decode()
    assert answer.context["rate"] is not None


def test_metrics_are_told_to_no_workspace_of_this_machine(client):
    with override_settings(STEELYARD={**portal_settings.STEELYARD, "METRICS_ON_LOOPBACK": False}):
        assert client.get("/metrics").status_code == 404
