"""Sessions: what they opened ends with them, guessing is slowed down, and nobody learns who exists."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from core.acts import Source, SourceKind, begin
from provisioning.models import WorkspaceEntry
from provisioning.services import entries
from tenants.services import sign_in
from tests import house
from tests.provisioning import stage

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def unthrottled():
    cache.clear()


def signed_in(email: str) -> Client:
    client = Client()
    client.post("/accounts/login/", {"login": email, "password": house.PASSWORD})
    return client


@pytest.fixture
def opened(aurora):
    """Alice's browser, and the key of the workspace that it has opened."""
    stage.open_shop()
    clock = stage.Clock(timezone.now())
    machine = stage.Machine(clock)
    workload = stage.settle(aurora, stage.launch(aurora, now=clock.now), machine, clock, seconds=3)
    browser = signed_in("alice@aurora.example")
    with house.an_act(), aurora.scope():
        actor = replace(aurora.actor("alice"), session_key=browser.session.session_key)
        way = entries.open_entry(actor=actor, workload_id=workload.pk, now=clock.now)
    with begin(Source(SourceKind.PROXY)):
        entered = entries.redeem(label=way.label, code=way.code, now=clock.now)
    assert isinstance(entered, entries.Entered)
    with aurora.scope():
        entry = WorkspaceEntry.objects.get()
    return browser, f"{aurora.organization.pk}/{entry.pk}"


def holds(key: str) -> bool:
    """What the proxy asks again every few seconds, for everything that is open."""
    return entries.recheck([key], timezone.now()) == {key}


class TestWhatASessionOpened:
    def test_ends_when_the_session_is_ended_from_another_browser(self, opened):
        _, key = opened
        assert holds(key)
        elsewhere = signed_in("alice@aurora.example")

        elsewhere.post("/accounts/sessions/")

        assert not holds(key)

    def test_ends_when_the_person_signs_out(self, opened):
        browser, key = opened

        browser.post("/accounts/logout/")

        assert not holds(key)

    def test_ends_when_the_organisation_asks_for_a_factor_that_is_missing(self, aurora, opened):
        _, key = opened
        house.give_factor(aurora, "olivia")
        with house.an_act(), aurora.scope():
            sign_in.require_second_factor(
                actor=aurora.actor("olivia"), organization=aurora.organization, required=True, now=timezone.now()
            )

        assert not holds(key)


class TestGuessing:
    @pytest.mark.parametrize("email", ["alice@aurora.example", "nobody@aurora.example"])
    def test_is_slowed_down_per_account_whatever_the_address_and_whoever_exists(self, aurora, email):
        answers = [
            Client(REMOTE_ADDR=f"192.0.2.{number}")
            .post("/accounts/login/", {"login": email, "password": "wrong"})
            .content.decode()
            for number in range(8)
        ]

        assert "Too many" in answers[-1]
        last = Client(REMOTE_ADDR="192.0.2.99").post("/accounts/login/", {"login": email, "password": house.PASSWORD})
        assert last.status_code == 200

    def test_is_slowed_down_per_address(self, aurora):
        answers = [
            Client(REMOTE_ADDR="192.0.2.7")
            .post("/accounts/login/", {"login": f"someone{number}@aurora.example", "password": "wrong"})
            .content.decode()
            for number in range(14)
        ]

        assert "Too many" in answers[-1]


class TestWhoExists:
    def shown(self, response):
        return response.content.decode().partition("<main")[2].partition("</main>")[0]

    def test_is_not_told_by_signing_in(self, aurora):
        pages = {
            self.without_token(
                self.shown(Client().post("/accounts/login/", {"login": email, "password": "wrong"})).replace(email, "…")
            )
            for email in ("alice@aurora.example", "nobody@aurora.example")
        }

        assert len(pages) == 1

    def test_is_not_told_by_asking_for_a_new_password(self, aurora):
        answers = [
            Client().post("/accounts/password/reset/", {"email": email})
            for email in ("alice@aurora.example", "nobody@aurora.example")
        ]

        assert {answer.status_code for answer in answers} == {302}
        assert len({answer.headers["Location"] for answer in answers}) == 1
        assert len(mail.outbox) == 2

    @staticmethod
    def without_token(page: str) -> str:
        before, _, after = page.partition('name="csrfmiddlewaretoken"')
        return before + after.partition(">")[2]
