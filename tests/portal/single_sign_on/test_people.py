"""Signing in by an organisation's provider, against a real one."""

from __future__ import annotations

import html

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client
from django.utils import timezone

from core import scope
from core.models import AuditEvent
from tenants.models import ExternalIdentity, Membership, User
from tenants.services import memberships, sign_in
from tests import house
from tests.portal.single_sign_on.ways import act, address_in, come, draft, person, roles

pytestmark = pytest.mark.django_db


class TestComingIn:
    def test_a_new_person_is_made_just_in_time_with_the_role_of_the_group(self, joined, idp):
        person(idp, "nora", "nora@aurora.example", "scientists", "cyclists", name="Nora Lind")

        browser, answer = come(idp, "nora")

        assert (answer.status_code, answer.headers["Location"]) == (302, "/")
        assert browser.get("/workspaces").status_code == 200
        assert roles(joined, "nora@aurora.example") == [("developer", "vision", "sso")]
        made = User.objects.get(email="nora@aurora.example")
        assert (made.full_name, made.has_usable_password()) == ("Nora Lind", False)
        with joined.scope():
            event = AuditEvent.objects.get(verb="person.signed_in")
            assert event.after
            assert (event.outcome, event.actor_id, event.after["by"], event.after["new"]) == (
                "done",
                made.pk,
                ["sso"],
                True,
            )

    def test_roles_follow_the_groups_at_each_sign_in_and_grants_stay(self, joined, idp):
        person(idp, "nils", "nils@aurora.example", "scientists", "auditors")
        come(idp, "nils")
        nils = User.objects.get(email="nils@aurora.example")
        with house.an_act(), joined.scope():
            memberships.grant(
                actor=house.SYSTEM,
                organization=joined.organization,
                user=nils,
                role="viewer",
                project=joined.projects["language"],
                now=timezone.now(),
            )

        person(idp, "nils", "nils@aurora.example", "scientists", "leads")
        come(idp, "nils")

        assert roles(joined, "nils@aurora.example") == [
            ("project_admin", "vision", "sso"),
            ("viewer", "language", "granted"),
        ]

    def test_one_whose_groups_are_gone_is_out(self, joined, idp):
        person(idp, "nina", "nina@aurora.example", "scientists")
        come(idp, "nina")

        person(idp, "nina", "nina@aurora.example")
        browser, answer = come(idp, "nina")

        assert answer.status_code == 403
        assert "gives no role" in answer.content.decode()
        assert roles(joined, "nina@aurora.example") == []
        assert browser.get("/workspaces").status_code == 302

    def test_somebody_without_a_mapped_group_is_not_made(self, joined, idp):
        person(idp, "guest", "guest@aurora.example", "cyclists")

        _, answer = come(idp, "guest")

        assert answer.status_code == 403
        assert not User.objects.filter(email="guest@aurora.example").exists()

    @pytest.mark.parametrize(
        ("email", "verified", "words"),
        [
            ("mallory@elsewhere.example", True, "has not proven that elsewhere.example"),
            ("mallory@sub.aurora.example", True, "has not proven that sub.aurora.example"),
            ("mallory@aurora.example.evil.example", True, "has not proven"),
            ("mallory@aurora.example", False, "has verified your e-mail"),
            ("mallory@aurora.example", "no", "has verified your e-mail"),
            ("", True, "has verified your e-mail"),
        ],
    )
    def test_the_provider_speaks_only_for_verified_addresses_in_proven_domains(
        self, joined, idp, email, verified, words
    ):
        person(idp, "mallory", email, "scientists", verified=verified)

        _, answer = come(idp, "mallory")

        assert answer.status_code == 403
        assert words in html.unescape(answer.content.decode())
        assert not User.objects.filter(email=email).exists()
        with joined.scope():
            [event] = AuditEvent.objects.filter(outcome="denied")
            assert (event.verb, event.object_id) == ("person.signed_in", "unknown")


class TestAccountsThatExist:
    def test_none_is_taken_over_and_the_reason_is_clear(self, joined, idp):
        person(idp, "alice-there", "alice@aurora.example", "scientists")

        browser, answer = come(idp, "alice-there")

        assert "This account exists already" in answer.content.decode()
        assert browser.get("/workspaces").status_code == 302
        with joined.scope():
            assert not ExternalIdentity.objects.exists()

    def test_its_owner_links_it_signed_in_by_their_own_means(self, joined, idp):
        person(idp, "alice-there", "alice@aurora.example", "leads")
        browser, _ = come(idp, "alice-there")

        to_login = browser.get("/sign-in/link")
        browser.post(to_login.headers["Location"], {"login": "alice@aurora.example", "password": house.PASSWORD})
        page = browser.get("/sign-in/link")
        done = browser.post("/sign-in/link")

        assert "Link your account with Aurora?" in page.content.decode()
        assert done.status_code == 302
        with joined.scope():
            assert AuditEvent.objects.get(verb="identity.linked").actor_id == joined.people["alice"].pk
        again, _ = come(idp, "alice-there")
        assert again.get("/workspaces").status_code == 200

    def test_nobody_else_links_it(self, joined, idp):
        person(idp, "alice-there", "alice@aurora.example", "scientists")
        browser, _ = come(idp, "alice-there")
        browser.post("/accounts/login/", {"login": "bob@aurora.example", "password": house.PASSWORD})

        refused = browser.post("/sign-in/link")

        assert refused.status_code == 409
        with joined.scope():
            assert not ExternalIdentity.objects.exists()

    def test_consent_needs_a_fresh_proof(self, joined, idp):
        browser = house.client_for(joined, "alice")
        person(idp, "alice-there", "alice@aurora.example", "scientists")
        come(idp, "alice-there", client=browser)

        assert browser.get("/sign-in/link").headers["Location"].startswith("/accounts/reauthenticate/")
        assert browser.post("/sign-in/link").headers["Location"].startswith("/accounts/reauthenticate/")

    def test_the_consent_can_be_taken_back(self, joined, idp):
        self.test_its_owner_links_it_signed_in_by_their_own_means(joined, idp)
        alice = house.client_for(joined, "alice")

        alice.post("/sign-in/unlink")

        _, answer = come(idp, "alice-there")
        assert "This account exists already" in answer.content.decode()
        assert ("project_admin", "vision", "sso") not in roles(joined, "alice@aurora.example")

    def test_a_closed_account_stays_closed(self, joined, idp):
        person(idp, "nora", "nora@aurora.example", "scientists")
        come(idp, "nora")
        User.objects.filter(email="nora@aurora.example").update(is_active=False)

        _, answer = come(idp, "nora")

        assert answer.status_code == 403


class TestItsSession:
    @pytest.fixture
    def both(self, joined, borealis, idp):
        """Nora comes to Aurora by its provider; Borealis has given her a role too."""
        person(idp, "nora", "nora@aurora.example", "scientists")
        come(idp, "nora")
        nora = User.objects.get(email="nora@aurora.example")
        with house.an_act(), borealis.scope():
            memberships.grant(
                actor=house.SYSTEM,
                organization=borealis.organization,
                user=nora,
                role="owner",
                project=None,
                now=timezone.now(),
            )
        return joined, borealis, nora

    def test_is_valid_for_that_organisation_alone(self, both, idp):
        _, borealis, _ = both
        browser, _ = come(idp, "nora")

        assert browser.post("/switch/organization/borealis").status_code == 404
        me = browser.get("/api/v1/me").json()
        assert [found["slug"] for found in me["organizations"]] == ["aurora"]
        assert [row["slug"] for row in browser.get("/api/v1/organizations").json()["results"]] == ["aurora"]
        assert browser.get(f"/api/v1/projects/borealis/{next(iter(borealis.projects))}").status_code == 404

    def test_leads_nowhere_when_the_person_is_removed_there(self, both, idp):
        joined, _, nora = both
        browser, _ = come(idp, "nora")
        with house.an_act(), joined.scope():
            for row in Membership.objects.filter(user=nora):
                memberships.revoke(actor=house.SYSTEM, membership=row, now=timezone.now())

        assert browser.get("/workspaces").status_code != 200
        assert browser.get("/api/v1/projects").status_code == 403

    def test_has_no_platform_role_and_makes_no_password(self, both, idp):
        _, _, nora = both
        with house.an_act(), scope.of_platform():
            User.objects.filter(pk=nora.pk).update(platform_role="platform_admin")
        browser, _ = come(idp, "nora")

        assert browser.get("/accounts/password/set/").status_code == 403
        assert browser.get("/console").status_code in (301, 404)

    def test_counts_as_a_second_factor_there(self, both, idp):
        joined, _, _ = both
        house.give_factor(joined, "olivia")
        act(joined, "olivia", sign_in.require_second_factor, required=True)

        browser, _ = come(idp, "nora")

        assert browser.get("/workspaces").status_code == 200

    def test_ends_when_the_provider_is_no_longer_in_use(self, both, idp):
        joined, _, nora = both
        browser, _ = come(idp, "nora")
        assert UserSession.objects.filter(user=nora).exists()

        act(joined, "olivia", sign_in.save_provider, draft=draft(idp, enabled=False, client_secret=None))

        assert browser.get("/workspaces").status_code == 302
        assert browser.get("/api/v1/me").status_code == 401
        assert not UserSession.objects.filter(user=nora).exists()


class TestTheWay:
    def test_an_unknown_name_gets_one_answer_whoever_exists(self, joined):
        pages = [
            Client()
            .get("/sign-in/organization", {"organization": word})
            .content.decode()
            .partition("<main")[2]
            .partition("</main>")[0]
            .replace(word, "…")
            for word in ("borealis", "nobody", "alice@elsewhere.example", "nobody@elsewhere.example")
        ]

        assert len(set(pages)) == 1
        assert "Nobody signs in here by that name" in pages[0]

    def test_an_address_at_work_leads_to_the_provider_whoever_exists(self, joined, idp):
        for word in ("alice@aurora.example", "nobody@aurora.example", "AURORA"):
            page = Client().get("/sign-in/organization", {"organization": word}).content.decode()
            assert f"{idp.issuer}/oauth2/authorize" in page

    def test_an_answer_to_another_sign_in_is_refused(self, joined, idp):
        person(idp, "nora", "nora@aurora.example", "scientists")
        page = Client().get("/sign-in/organization", {"organization": "aurora"}).content.decode()
        stolen = idp.vouch(address_in(page), "nora")
        victim = Client()
        victim.get("/sign-in/organization", {"organization": "aurora"})

        assert victim.get(f"/sign-in/callback?{stolen}").status_code == 403
        assert Client().get(f"/sign-in/callback?{stolen}").headers["Location"] == "/sign-in/organization"
        assert victim.get("/workspaces").status_code == 302

    def test_an_answer_works_once(self, joined, idp):
        person(idp, "nora", "nora@aurora.example", "scientists")
        browser = Client()
        page = browser.get("/sign-in/organization", {"organization": "aurora"}).content.decode()
        query = idp.vouch(address_in(page), "nora")

        assert browser.get(f"/sign-in/callback?{query}").headers["Location"] == "/"
        assert browser.get(f"/sign-in/callback?{query}").headers["Location"] == "/sign-in/organization"

    def test_a_provider_inside_our_network_is_not_called(self, joined, settings):
        settings.STEELYARD = {**settings.STEELYARD, "OUTGOING_NETWORKS": ()}

        answer = Client().get("/sign-in/organization", {"organization": "aurora"})

        assert answer.status_code == 502
