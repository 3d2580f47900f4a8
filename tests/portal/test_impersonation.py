"""The platform acts for somebody: reasoned, limited, shown, recorded on their behalf, and never into secrets."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from core.models import AuditEvent
from tenants.enums import PlatformRole
from tenants.models import Impersonation
from tests import house

pytestmark = pytest.mark.django_db
REASON = "Ticket 4711: her launch form shows no shape."


@pytest.fixture
def paula(aurora, borealis):
    """A platform operator at home in borealis; aurora is nothing of hers."""
    return house.platform_person(borealis, "paula", PlatformRole.OPERATOR)


@pytest.fixture
def acting(aurora, borealis, paula):
    """Her browser, acting for alice."""
    client = house.client_for(borealis, "paula")
    assert begin(client, aurora).headers["Location"] == "/"
    return client


def begin(client, aurora, name="alice", reason=REASON, minutes="30"):
    return client.post(
        f"/console/tenants/aurora/act-for/{aurora.people[name].pk}", {"reason": reason, "minutes": minutes}
    )


class TestBeginning:
    @pytest.mark.parametrize(
        ("reason", "minutes"), [("", "30"), ("too short", "30"), (REASON, "0"), (REASON, "61"), (REASON, "x")]
    )
    def test_needs_a_reason_and_an_end(self, aurora, borealis, paula, reason, minutes):
        answer = begin(house.client_for(borealis, "paula"), aurora, reason=reason, minutes=minutes)

        assert answer.status_code == 400
        with aurora.scope():
            assert not Impersonation.objects.exists()

    def test_a_platform_auditor_may_not(self, aurora, borealis):
        house.platform_person(borealis, "pat", PlatformRole.AUDITOR)

        assert begin(house.client_for(borealis, "pat"), aurora).status_code == 403

    @pytest.mark.parametrize("name", ["olivia", "bob"])
    def test_a_customer_finds_nothing(self, aurora, name):
        assert begin(house.client_for(aurora, name), aurora).status_code == 404

    def test_a_stranger_to_the_organisation_is_no_member_of_it(self, aurora, borealis, paula):
        charlie = borealis.people["charlie"].pk
        path = f"/console/tenants/aurora/act-for/{charlie}"

        answer = house.client_for(borealis, "paula").post(path, {"reason": REASON, "minutes": "5"})

        assert answer.status_code == 404

    def test_the_platforms_own_people_are_not_acted_for(self, aurora, borealis, paula):
        house.platform_person(aurora, "pit", PlatformRole.ADMIN)

        assert begin(house.client_for(borealis, "paula"), aurora, name="pit").status_code == 409


class TestActing:
    def test_every_page_says_so(self, acting):
        page = acting.get("/").content.decode()

        assert "You act for" in page
        assert REASON in page

    def test_what_is_done_is_the_operators_on_the_persons_behalf(self, aurora, paula, acting):
        assert acting.post("/switch/project/vision").status_code == 302

        with aurora.scope():
            begun = AuditEvent.objects.get(verb="impersonation.begun")
            done = AuditEvent.objects.get(verb="project.switched")
        assert begun.after is not None
        assert (begun.actor_id, begun.after["reason"]) == (paula.pk, REASON)
        assert (done.actor_id, done.on_behalf_of) == (paula.pk, aurora.people["alice"].pk)

    @pytest.mark.parametrize("path", ["/tokens", "/switch/organization/borealis"])
    def test_what_is_the_persons_own_stays_closed(self, aurora, paula, acting, path):
        answer = acting.post(path, {"name": "mine"})

        assert answer.status_code == 403
        with aurora.scope():
            denied = AuditEvent.objects.get(outcome="denied")
        assert (denied.actor_id, denied.on_behalf_of) == (paula.pk, aurora.people["alice"].pk)

    def test_by_the_api_too(self, acting):
        token = acting.get("/").wsgi_request.META["CSRF_COOKIE"]

        answer = acting.post(
            "/api/v1/tokens", {"name": "mine"}, content_type="application/json", headers={"X-CSRFToken": token}
        )

        assert answer.status_code == 403

    def test_an_owners_right_to_govern_is_not_lent(self, aurora, borealis, paula):
        client = house.client_for(borealis, "paula")
        begin(client, aurora, name="olivia")

        me = client.get("/api/v1/me").json()

        held = set(me["organizations"][0]["permissions"])
        assert "view_members" in held
        assert not {name for name in held if name.startswith(("manage_", "transfer_", "close_", "decide_"))}

    def test_the_console_is_closed_meanwhile(self, acting):
        assert acting.get("/console/").status_code == 404


class TestEnding:
    def test_by_hand(self, aurora, acting):
        answer = acting.post("/acting/end")

        assert answer.headers["Location"] == "/console/"
        assert acting.get("/console/").status_code == 200
        assert "You act for" not in acting.get("/").content.decode()
        with aurora.scope():
            assert Impersonation.objects.get().ended_at is not None

    def test_by_the_clock(self, aurora, acting):
        with aurora.scope(), house.an_act():
            past = timezone.now() - timedelta(hours=1)
            Impersonation.objects.update(started_at=past, ends_at=past + timedelta(minutes=30))

        assert acting.get("/").headers["Location"] == "/console/"
        assert "You act for" not in acting.get("/").content.decode()

    def test_when_the_operator_loses_the_role(self, paula, acting):
        type(paula).objects.filter(pk=paula.pk).update(platform_role="")

        assert acting.get("/").status_code == 302
        assert acting.get("/console/").status_code == 404
