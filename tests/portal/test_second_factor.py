"""Second factors: set up, asked for at the door, required by an organisation, never in the clear in the database."""

from __future__ import annotations

import json
import re

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from core import scope
from core.models import AuditEvent
from tenants.models import Organization
from tenants.services import memberships
from tests import house

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def unthrottled():
    cache.clear()


def code_of(secret):
    """What an authenticator app shows now. Within the tolerance, a code that was used is refused: take it once."""
    return totp.format_hotp_value(totp.hotp_value(secret, int(timezone.now().timestamp()) // 30))


def sign_in(email: str) -> tuple[Client, HttpResponse]:
    client = Client()
    return client, client.post("/accounts/login/", {"login": email, "password": house.PASSWORD})  # type: ignore[return-value]


def confirmed(tenant, name: str) -> Client:
    """A browser whose person has just typed the password again."""
    client, _ = sign_in(f"{name}@{tenant.organization.slug}.example")
    client.post("/accounts/reauthenticate/", {"password": house.PASSWORD})
    return client


def with_app(tenant, name: str):
    """The person has an authenticator app; its secret."""
    secret = totp.generate_totp_secret()
    totp.TOTP.activate(tenant.people[name], secret)
    RecoveryCodes.activate(tenant.people[name])
    return secret


def require_factor(tenant) -> None:
    with house.an_act(), tenant.scope():
        Organization.objects.filter(pk=tenant.organization.pk).update(mfa_required=True)


def verbs_of(tenant) -> list[tuple[str, str]]:
    with scope.of_organization(tenant.organization.pk):
        return [(event.verb, event.outcome) for event in AuditEvent.objects.order_by("id")]


class TestRequiring:
    def test_is_refused_to_a_person_without_one(self, aurora):
        api = house.api_for(aurora, "olivia")
        path, body = "/api/v1/sign-in", {"mfa_required": True}

        refused = api.patch(path, body, content_type="application/json")
        assert (refused.status_code, refused.json()["code"]) == (409, "no_second_factor")
        house.give_factor(aurora, "olivia")
        assert api.patch(path, body, content_type="application/json").status_code == 200
        assert api.get("/api/v1/projects").status_code == 200

    def test_a_change_of_nothing_is_refused(self, aurora):
        path = f"/api/v1/organizations/{aurora.organization.pk}"
        answer = house.api_for(aurora, "olivia").patch(path, {}, content_type="application/json")

        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "empty")


class TestSettingUp:
    def test_an_app_is_set_up_with_recovery_codes_and_each_is_audited(self, aurora, django_capture_on_commit_callbacks):
        alice = confirmed(aurora, "alice")
        page = alice.get("/accounts/2fa/totp/activate/").content.decode()
        [secret] = re.findall(r'data-copy="([A-Z2-7]+)"', page)
        before = len(verbs_of(aurora))

        with django_capture_on_commit_callbacks(execute=True):
            done = alice.post("/accounts/2fa/totp/activate/", {"code": (code := code_of(secret))})

        assert done.status_code == 302
        assert not totp.TOTP(Authenticator.objects.get(type="totp")).validate_code(code)
        assert sorted(verbs_of(aurora)[before:]) == [("recovery_codes.made", "done"), ("second_factor.added", "done")]
        shown = alice.get(done.headers["Location"]).content.decode()
        assert len(re.findall(r"<li><code>\d{5} \d{5}</code>", shown)) == 10
        again = alice.get("/accounts/2fa/recovery-codes/").content.decode()
        assert "<li><code>" not in again

    def test_the_secrets_are_encrypted_in_the_database(self, aurora):
        secret = with_app(aurora, "alice")

        stored = {row.type: row.data for row in Authenticator.objects.all()}

        assert secret not in json.dumps(stored)
        assert all(word.startswith("gAAAAA") for word in (stored["totp"]["secret"], stored["recovery_codes"]["seed"]))

    def test_the_last_factor_takes_the_recovery_codes_along(self, aurora, django_capture_on_commit_callbacks):
        with_app(aurora, "alice")
        client = self._entered_with_code(aurora)
        before = len(verbs_of(aurora))

        with django_capture_on_commit_callbacks(execute=True):
            client.post("/accounts/2fa/totp/deactivate/")

        assert not Authenticator.objects.exists()
        assert sorted(verbs_of(aurora)[before:]) == [
            ("recovery_codes.removed", "done"),
            ("second_factor.removed", "done"),
        ]

    @staticmethod
    def _entered_with_code(tenant) -> Client:
        client, _ = sign_in("alice@aurora.example")
        codes = RecoveryCodes(Authenticator.objects.get(type="recovery_codes")).get_unused_codes()
        client.post("/accounts/2fa/authenticate/", {"code": codes[0]})
        client.post("/accounts/reauthenticate/", {"password": house.PASSWORD})
        return client


class TestAtTheDoor:
    def test_a_password_alone_opens_nothing(self, aurora):
        with_app(aurora, "alice")

        client, answer = sign_in("alice@aurora.example")

        assert answer.headers["Location"] == "/accounts/2fa/authenticate/"
        assert client.get("/usage").headers["Location"].startswith("/accounts/login/")
        assert client.get("/api/v1/me").status_code == 401

    def test_password_and_code_do_and_the_event_says_so(self, aurora):
        secret = with_app(aurora, "alice")
        client, _ = sign_in("alice@aurora.example")

        client.post("/accounts/2fa/authenticate/", {"code": code_of(secret)})

        assert client.get("/usage").status_code == 200
        with aurora.scope():
            event = AuditEvent.objects.filter(verb="person.signed_in").get()
        assert event.after == {"by": ["password", "totp"]}

    def test_a_code_works_once(self, aurora):
        secret = with_app(aurora, "alice")
        code = code_of(secret)
        first, _ = sign_in("alice@aurora.example")
        first.post("/accounts/2fa/authenticate/", {"code": code})
        second, _ = sign_in("alice@aurora.example")

        second.post("/accounts/2fa/authenticate/", {"code": code})

        assert second.get("/usage").status_code == 302

    def test_a_recovery_code_works_once(self, aurora):
        with_app(aurora, "alice")
        codes = RecoveryCodes(Authenticator.objects.get(type="recovery_codes")).get_unused_codes()
        statuses = []
        for _ in range(2):
            client, _ = sign_in("alice@aurora.example")
            client.post("/accounts/2fa/authenticate/", {"code": codes[0]})
            statuses.append(client.get("/usage").status_code)

        assert statuses == [200, 302]

    def test_wrong_codes_are_audited_and_slowed_down(self, aurora):
        with_app(aurora, "alice")
        client, _ = sign_in("alice@aurora.example")
        before = len(verbs_of(aurora))

        pages = [client.post("/accounts/2fa/authenticate/", {"code": "000000"}).content.decode() for _ in range(7)]

        assert 0 < verbs_of(aurora)[before:].count(("person.signed_in", "denied")) < 7
        assert "Too many" in pages[-1]


class TestRequired:
    def test_a_person_without_one_is_led_to_the_set_up_page_and_can_do_nothing_else(self, aurora):
        client, _ = sign_in("alice@aurora.example")
        assert client.get("/usage").status_code == 200
        require_factor(aurora)

        assert client.get("/usage").headers["Location"] == "/accounts/2fa/"
        assert client.post("/launch", {}).headers["Location"] == "/accounts/2fa/"
        assert client.get("/usage", headers={"HX-Request": "true"}).headers["HX-Redirect"] == "/accounts/2fa/"
        page = client.get("/accounts/2fa/").content.decode()
        assert "Aurora asks for a second factor" in page
        refused = client.get("/api/v1/projects")
        assert (refused.status_code, refused.json()["code"]) == (403, "second_factor_required")

    def test_a_token_works_once_its_owner_has_one(self, aurora):
        api = house.api_for(aurora, "alice")
        require_factor(aurora)
        refused = api.get("/api/v1/projects")

        with_app(aurora, "alice")

        assert (refused.status_code, refused.json()["code"]) == (403, "second_factor_required")
        assert api.get("/api/v1/projects").status_code == 200

    def test_other_organisations_ask_for_nothing(self, aurora, borealis):
        require_factor(aurora)

        assert house.client_for(borealis, "charlie").get("/usage").status_code == 200
        assert house.api_for(borealis, "charlie").get("/api/v1/projects").status_code == 200

    def test_one_who_belongs_elsewhere_too_may_go_there(self, aurora, borealis):
        with house.an_act(), borealis.scope():
            memberships.grant(
                actor=house.SYSTEM,
                organization=borealis.organization,
                user=aurora.people["alice"],
                role="developer",
                project=borealis.projects["drugs"],
                now=timezone.now(),
            )
        require_factor(aurora)
        client = house.client_for(aurora, "alice")
        assert client.get("/usage").status_code == 302

        client.post("/switch/organization/borealis")

        assert client.get("/usage").status_code == 200
