"""Signing in by an organisation's provider, against a real one in a process of its own."""

from __future__ import annotations

import html
import ipaddress
import re
from datetime import timedelta

import jwt
import pytest
from allauth.usersessions.models import UserSession
from cryptography.hazmat.primitives.asymmetric import rsa
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from core import scope
from core.errors import Conflict, NotFound, Refused
from core.models import AuditEvent
from tenants.drivers import oidc
from tenants.models import EmailDomain, ExternalIdentity, IdentityProvider, Membership, User
from tenants.services import email_domains, memberships, sign_in
from tenants.services.sign_in import MappingDraft, ProviderDraft
from tests import house
from tests.oidc import OidcProvider, running_name_server, running_provider

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def idp():
    with running_provider() as found:
        yield found


@pytest.fixture(scope="module")
def records():
    return {}


@pytest.fixture(scope="module")
def name_server(records):
    with running_name_server(records) as address:
        yield address


@pytest.fixture(autouse=True)
def reachable(settings, name_server):
    cache.clear()
    settings.STEELYARD = {
        **settings.STEELYARD,
        "OUTGOING_NETWORKS": (ipaddress.ip_network("127.0.0.0/8"),),
        "DNS_SERVERS": (name_server,),
    }


def act(tenant, name, call, **words):
    with house.an_act(), tenant.scope():
        return call(actor=tenant.actor(name), organization=tenant.organization, now=timezone.now(), **words)


def draft(idp: OidcProvider, **changes) -> ProviderDraft:
    words = {
        "name": "Aurora account",
        "issuer": idp.issuer,
        "client_id": "steelyard",
        "client_secret": "hush",
        "group_claim": "groups",
        "enabled": True,
    }
    return ProviderDraft(**{**words, **changes})


def prove(tenant, name: str, domain: str, records: dict[str, str]) -> EmailDomain:
    row = act(tenant, name, email_domains.add, domain=domain)
    records[email_domains.record_name(domain)] = email_domains.record_value(row)
    with house.an_act():
        return email_domains.check(actor=tenant.actor(name), domain_id=row.pk, now=timezone.now())


@pytest.fixture
def joined(aurora, idp, records):
    """Aurora with its provider, its domain, and a role for the scientists."""
    act(
        aurora,
        "olivia",
        sign_in.save_provider,
        draft=draft(idp),
        mappings=[
            MappingDraft("scientists", "developer", aurora.projects["vision"]),
            MappingDraft("leads", "project_admin", aurora.projects["vision"]),
            MappingDraft("auditors", "auditor", aurora.organization),
        ],
    )
    prove(aurora, "olivia", "aurora.example", records)
    return aurora


def address_in(page: str) -> str:
    """Where the page sends the browser."""
    found = re.search(r'content="0;url=([^"]+)"', page)
    assert found is not None, page
    return html.unescape(found[1])


def come(idp: OidcProvider, subject: str, *, client: Client | None = None, organization: str = "aurora"):
    """Through the door, over the provider, and back."""
    browser = client or Client()
    page = browser.get("/sign-in/organization", {"organization": organization}).content.decode()
    address = address_in(page)
    return browser, browser.get(f"/sign-in/callback?{idp.vouch(address, subject)}")


def person(idp: OidcProvider, subject: str, email: str, *groups: str, verified: object = True, name: str = "") -> None:
    idp.person(subject, email=email, email_verified=verified, groups=list(groups), name=name)


def roles(tenant, email: str) -> list[tuple[str, str, str]]:
    with tenant.scope():
        rows = Membership.objects.filter(user__email=email).select_related("project")
        return sorted((row.role, row.project.slug if row.project else "", row.origin) for row in rows)


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


class TestIdentityTokens:
    """What a provider, or somebody who plays one, may not get away with."""

    @pytest.fixture
    def key(self):
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @pytest.fixture
    def provider(self):
        return oidc.Provider("https://idp.example", "https://idp.example/a", "", "https://idp.example/k", "", False)

    def verified(self, provider, key, monkeypatch, *, alg="RS256", sign_with=None, **changes):
        now = int(timezone.now().timestamp())
        claims = {"iss": provider.issuer, "sub": "1", "aud": "us", "iat": now, "exp": now + 60, "nonce": "n"}
        public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        shown = jwt.PyJWK({**public, "alg": "RS256", "kid": "k"})
        monkeypatch.setattr(oidc, "_key", lambda *_: shown)
        token = jwt.encode(
            {**claims, **changes}, key if sign_with is None else sign_with, algorithm=alg, headers={"kid": "k"}
        )
        return oidc._verified(provider, oidc.Client("us", "", ""), token, "n")

    def test_a_proper_one_is_believed(self, provider, key, monkeypatch):
        assert self.verified(provider, key, monkeypatch)["sub"] == "1"

    @pytest.mark.parametrize(
        "changes",
        [
            {"iss": "https://other.example"},
            {"aud": "them"},
            {"aud": ["us", "them"]},
            {"exp": 1},
            {"iat": 4_000_000_000},
            {"nonce": "other"},
            {"sub": None},
        ],
    )
    def test_a_claim_that_is_not_ours_is_not(self, provider, key, monkeypatch, changes):
        with pytest.raises((oidc.NotTrusted, TypeError)):
            self.verified(provider, key, monkeypatch, **changes)

    def test_another_key_or_none_is_not(self, provider, key, monkeypatch):
        other = rsa.generate_private_key(public_exponent=65537, key_size=2048)

        for words in ({"sign_with": other}, {"alg": "none", "sign_with": ""}, {"alg": "HS256", "sign_with": "x" * 32}):
            with pytest.raises(oidc.NotTrusted):
                self.verified(provider, key, monkeypatch, **words)


class TestDomains:
    def test_count_for_nothing_until_the_record_is_there(self, aurora, records):
        row = act(aurora, "olivia", email_domains.add, domain="Nordlicht.Example.")

        with house.an_act(), pytest.raises(Refused) as caught:
            email_domains.check(actor=aurora.actor("olivia"), domain_id=row.pk, now=timezone.now())
        assert caught.value.reasons[0].code == "dns_record_missing"

        records["_steelyard-challenge.nordlicht.example"] = "steelyard-domain=guessed"
        with house.an_act(), pytest.raises(Refused):
            email_domains.check(actor=aurora.actor("olivia"), domain_id=row.pk, now=timezone.now())

        records["_steelyard-challenge.nordlicht.example"] = email_domains.record_value(row)
        with house.an_act():
            proven = email_domains.check(actor=aurora.actor("olivia"), domain_id=row.pk, now=timezone.now())
        assert proven.proven_at is not None

    def test_one_organisation_alone_holds_the_proof(self, aurora, borealis, records):
        prove(aurora, "olivia", "shared.example", records)
        theirs = act(borealis, "boris", email_domains.add, domain="shared.example")
        records[email_domains.record_name("shared.example")] = email_domains.record_value(theirs)

        with house.an_act(), pytest.raises(Refused) as caught:
            email_domains.check(actor=borealis.actor("boris"), domain_id=theirs.pk, now=timezone.now())

        assert caught.value.reasons[0].code == "domain_taken"

    def test_a_record_that_is_gone_for_days_takes_the_proof_along(self, aurora, records):
        row = prove(aurora, "olivia", "fading.example", records)
        del records[email_domains.record_name("fading.example")]
        now = timezone.now()
        place = {"organization_id": aurora.organization.pk, "domain_id": row.pk}

        assert email_domains.recheck(**place, now=now + timedelta(days=1))
        assert not email_domains.recheck(**place, now=now + timedelta(days=4, hours=1))

        with aurora.scope():
            assert EmailDomain.objects.get(pk=row.pk).proven_at is None
            assert AuditEvent.objects.filter(verb="email_domain.lapsed", outcome="done").count() == 1

    def test_a_silent_name_server_changes_nothing(self, aurora, records, settings):
        row = prove(aurora, "olivia", "quiet.example", records)
        settings.STEELYARD = {**settings.STEELYARD, "DNS_SERVERS": ("127.0.0.1:9",)}

        assert email_domains.recheck(
            organization_id=aurora.organization.pk, domain_id=row.pk, now=timezone.now() + timedelta(days=9)
        )

    @pytest.mark.parametrize("word", ["", "example", "http://example.com", "a b.com", "-a.com", "x" * 64 + ".com"])
    def test_what_is_no_domain_is_refused(self, aurora, word):
        with pytest.raises(Exception, match="looks like"):
            act(aurora, "olivia", email_domains.add, domain=word)


class TestRules:
    def test_the_secret_is_encrypted_and_never_in_the_log(self, joined):
        with joined.scope():
            row = IdentityProvider.objects.get()
            logged = [event.after for event in AuditEvent.objects.filter(verb="identity_provider.saved")]

        assert row.client_secret.startswith("gAAAAA")
        assert "hush" not in repr(logged)

    def test_owners_are_never_mapped(self, joined):
        with pytest.raises(Exception, match="Owners are named by owners"):
            act(joined, "olivia", sign_in.map_group, mapping=MappingDraft("x", "owner", joined.organization))

    def test_one_role_a_group_and_place(self, joined):
        with pytest.raises(Conflict):
            act(
                joined,
                "olivia",
                sign_in.map_group,
                mapping=MappingDraft("scientists", "viewer", joined.projects["vision"]),
            )

    def test_a_developer_rules_nothing(self, joined, idp):
        with pytest.raises(Exception, match="manage_sign_in"):
            act(joined, "alice", sign_in.save_provider, draft=draft(idp))
        with pytest.raises(Exception, match="manage_sign_in"):
            act(joined, "alice", email_domains.add, domain="alice.example")

    def test_a_strangers_domain_is_not_there(self, joined, borealis):
        with joined.scope():
            row = EmailDomain.objects.get()

        with house.an_act(), pytest.raises(NotFound):
            email_domains.check(actor=borealis.actor("boris"), domain_id=row.pk, now=timezone.now())
