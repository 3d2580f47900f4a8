"""Access tokens: as narrow as their scopes and their owner's roles, rotated, and known to secret scanners."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from core.errors import Conflict, Forbidden, Invalid, NotFound
from core.models import AuditEvent
from tenants.credentials import is_well_formed, new_secret
from tenants.models import AccessToken
from tenants.services import memberships, service_accounts, sign_in, tokens
from tests import house

pytestmark = pytest.mark.django_db
DOCUMENT = Path(settings.BASE_DIR) / "docs" / "sign-in.md"


def by(secret: str) -> Client:
    return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {secret}"})


def post(client: Client, path: str, body: object = None):
    return client.post(path, json.dumps(body or {}), content_type="application/json")


def token(tenant, name: str, **words) -> tuple[AccessToken, str]:
    with house.an_act(), tenant.scope():
        return tokens.create(
            actor=tenant.actor(name),
            organization=tenant.organization,
            name="ci",
            now=timezone.now(),
            **{"scopes": (), "expires_at": None, **words},
        )


def account(tenant, role: str = "developer", project: str | None = "vision"):
    with house.an_act(), tenant.scope():
        made = service_accounts.create(
            actor=tenant.actor("olivia"), organization=tenant.organization, name="nightly", now=timezone.now()
        )
    with house.an_act(), tenant.scope():
        memberships.grant(
            actor=tenant.actor("olivia"),
            organization=tenant.organization,
            user=made.user,
            role=role,
            project=tenant.projects[project] if project else None,
            now=timezone.now(),
        )
    return made


class TestFormat:
    def test_the_documented_pattern_finds_what_is_made(self):
        [pattern] = re.findall(r"^    (sty_\S+)$", DOCUMENT.read_text(), flags=re.MULTILINE)

        for _ in range(50):
            secret = new_secret()
            assert re.fullmatch(pattern, secret)
            assert is_well_formed(secret)

    def test_the_checksum_tells_a_token_from_a_look_alike(self):
        secret = new_secret()
        wrong = secret[:-1] + ("a" if secret[-1] != "a" else "b")

        assert not is_well_formed(wrong)
        assert not is_well_formed(secret[:10] + ("a" if secret[10] != "a" else "b") + secret[11:])

    def test_the_documented_check_agrees(self):
        """The program in the documentation, as a scanner's author would run it."""
        [program] = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), flags=re.DOTALL)
        names: dict[str, object] = {}
        exec(program, names)
        check = names["is_steelyard_token"]
        secret = new_secret()

        assert callable(check)
        assert check(secret)
        assert not check(secret[:-1] + ("a" if secret[-1] != "a" else "b"))


class TestReach:
    def test_is_the_least_of_scopes_and_what_the_owner_may_now(self, aurora):
        _, narrow = token(aurora, "alice", scopes=["launch_workload", "view_project"])
        _, wide = token(aurora, "alice")
        before = [self.permissions(secret) for secret in (narrow, wide)]

        for project in aurora.projects.values():
            with house.an_act(), aurora.scope():
                memberships.grant(
                    actor=house.SYSTEM,
                    organization=aurora.organization,
                    user=aurora.people["alice"],
                    role="viewer",
                    project=project,
                    now=timezone.now(),
                )

        assert before[0] == {"launch_workload", "view_project"}
        assert before[1] > before[0] | {"view_quota"}
        assert self.permissions(narrow) == {"view_project"}
        assert "launch_workload" not in self.permissions(wide)
        assert "view_quota" in self.permissions(wide)

    @staticmethod
    def permissions(secret: str) -> set[str]:
        return set(by(secret).get("/api/v1/me").json()["projects"][0]["permissions"])

    def test_a_scope_that_the_owner_does_not_hold_gives_nothing(self, aurora):
        _, secret = token(aurora, "victor", scopes=["view_project", "launch_workload", "manage_quota"])

        granted = by(secret).get("/api/v1/me").json()["projects"][0]["permissions"]

        assert granted == ["view_project"]

    def test_a_token_makes_none_that_reaches_further(self, aurora):
        _, secret = token(aurora, "alice", scopes=["view_project"])

        refused = post(by(secret), "/api/v1/tokens", {"name": "more", "scopes": ["launch_workload"]})
        made = post(by(secret), "/api/v1/tokens", {"name": "same"})

        assert refused.status_code == 400
        assert made.json()["scopes"] == ["view_project"]

    def test_an_expired_one_is_nobody_and_not_listed(self, aurora):
        made, secret = token(aurora, "alice", expires_at=timezone.now() + timedelta(days=1))
        with aurora.scope():
            AccessToken.objects.filter(pk=made.pk).update(expires_at=timezone.now() - timedelta(seconds=1))

        assert by(secret).get("/api/v1/me").status_code == 401
        listed = house.api_for(aurora, "alice").get("/api/v1/tokens").json()["results"]
        assert str(made.pk) not in {row["id"] for row in listed}

    def test_the_last_use_is_noted(self, aurora):
        made, secret = token(aurora, "alice")

        by(secret).get("/api/v1/me")

        with aurora.scope():
            assert AccessToken.objects.get(pk=made.pk).last_used_at is not None


class TestRotation:
    def test_the_former_one_dies_at_once(self, aurora):
        made, former = token(aurora, "alice", scopes=["view_project"], expires_at=timezone.now() + timedelta(days=30))
        alice = house.api_for(aurora, "alice")

        answer = post(alice, f"/api/v1/tokens/{made.pk}/rotate")

        assert answer.status_code == 201, answer.content
        new = answer.json()
        assert (new["name"], new["scopes"], new["rotated_from"]) == ("ci", ["view_project"], str(made.pk))
        assert new["expires_at"] is not None
        assert by(former).get("/api/v1/projects").status_code == 401
        assert by(new["secret"]).get("/api/v1/projects").status_code == 200
        with aurora.scope():
            event = AuditEvent.objects.get(verb="token.rotated")
            assert event.after
            assert event.after["former"] == str(made.pk)

    def test_or_lives_on_for_the_stated_overlap(self, aurora):
        made, former = token(aurora, "alice")
        alice = house.api_for(aurora, "alice")

        post(alice, f"/api/v1/tokens/{made.pk}/rotate", {"overlap_seconds": 3600})

        assert by(former).get("/api/v1/projects").status_code == 200
        with aurora.scope():
            ends = AccessToken.objects.get(pk=made.pk).expires_at
        assert ends is not None
        assert timedelta(minutes=59) < ends - timezone.now() <= timedelta(hours=1)

    def test_an_overlap_is_never_longer_than_a_day_and_never_longer_than_its_life(self, aurora):
        made, _ = token(aurora, "alice", expires_at=timezone.now() + timedelta(minutes=5))
        alice = house.api_for(aurora, "alice")

        assert post(alice, f"/api/v1/tokens/{made.pk}/rotate", {"overlap_seconds": 86_401}).status_code == 400
        post(alice, f"/api/v1/tokens/{made.pk}/rotate", {"overlap_seconds": 86_400})

        with aurora.scope():
            ends = AccessToken.objects.get(pk=made.pk).expires_at
        assert ends is not None
        assert ends - timezone.now() <= timedelta(minutes=5)

    def test_a_narrow_token_rotates_no_wider_one(self, aurora):
        wide, _ = token(aurora, "alice")
        _, narrow = token(aurora, "alice", scopes=["view_project"])

        assert post(by(narrow), f"/api/v1/tokens/{wide.pk}/rotate").status_code == 400

    def test_nobody_elses(self, aurora):
        made, _ = token(aurora, "alice")

        assert post(house.api_for(aurora, "olivia"), f"/api/v1/tokens/{made.pk}/rotate").status_code == 404

    def test_a_revoked_one_is_not_there(self, aurora):
        made, _ = token(aurora, "alice")
        alice = house.api_for(aurora, "alice")
        alice.delete(f"/api/v1/tokens/{made.pk}")

        assert post(alice, f"/api/v1/tokens/{made.pk}/rotate").status_code == 404


class TestServiceAccounts:
    def test_a_token_acts_as_the_account_within_its_roles(self, aurora):
        made = account(aurora)
        answer = post(house.api_for(aurora, "olivia"), f"/api/v1/service-accounts/{made.pk}/tokens", {"name": "ci"})

        assert answer.status_code == 201, answer.content
        found = by(answer.json()["secret"]).get("/api/v1/projects").json()["results"]
        assert [row["slug"] for row in found] == ["vision"]
        listed = house.api_for(aurora, "olivia").get(f"/api/v1/service-accounts/{made.pk}/tokens").json()["results"]
        assert [row["name"] for row in listed] == ["ci"]

    def test_it_needs_no_second_factor(self, aurora):
        made = account(aurora)
        answer = post(house.api_for(aurora, "olivia"), f"/api/v1/service-accounts/{made.pk}/tokens", {"name": "ci"})
        house.give_factor(aurora, "olivia")
        with house.an_act(), aurora.scope():
            sign_in.require_second_factor(
                actor=aurora.actor("olivia"), organization=aurora.organization, required=True, now=timezone.now()
            )

        assert by(answer.json()["secret"]).get("/api/v1/projects").status_code == 200

    def test_its_tokens_are_rotated_and_revoked_by_who_manages_it(self, aurora):
        made = account(aurora)
        olivia = house.api_for(aurora, "olivia")
        first = post(olivia, f"/api/v1/service-accounts/{made.pk}/tokens", {"name": "ci"}).json()

        second = post(olivia, f"/api/v1/tokens/{first['id']}/rotate").json()
        assert by(first["secret"]).get("/api/v1/projects").status_code == 401
        assert by(second["secret"]).get("/api/v1/projects").status_code == 200

        assert olivia.delete(f"/api/v1/tokens/{second['id']}").status_code == 204
        assert by(second["secret"]).get("/api/v1/projects").status_code == 401

    @pytest.mark.parametrize(("name", "error"), [("alice", (NotFound, Forbidden)), ("victor", (NotFound, Forbidden))])
    def test_nobody_else_makes_one(self, aurora, name, error):
        made = account(aurora)

        with house.an_act(), aurora.scope(), pytest.raises(error):
            tokens.create_for_account(
                actor=aurora.actor(name),
                account_id=made.pk,
                name="ci",
                scopes=(),
                expires_at=None,
                now=timezone.now(),
            )

    def test_a_disabled_account_gets_none_and_its_tokens_end(self, aurora):
        made = account(aurora)
        olivia = house.api_for(aurora, "olivia")
        secret = post(olivia, f"/api/v1/service-accounts/{made.pk}/tokens", {"name": "ci"}).json()["secret"]
        with house.an_act(), aurora.scope():
            service_accounts.disable(actor=aurora.actor("olivia"), account_id=made.pk, now=timezone.now())

        assert by(secret).get("/api/v1/projects").status_code == 401
        with house.an_act(), aurora.scope(), pytest.raises((Conflict, Invalid)):
            tokens.create_for_account(
                actor=aurora.actor("olivia"),
                account_id=made.pk,
                name="more",
                scopes=(),
                expires_at=None,
                now=timezone.now(),
            )


@pytest.fixture
def house_of_admins(aurora):
    house.join(aurora, "adam", "admin")
    return aurora


class TestReachOfServiceAccounts:
    """Whoever gets a token of a service account holds all that the account holds, on each of its places."""

    def test_an_admin_gets_no_token_of_one_that_reads_invoices(self, house_of_admins):
        made = account(house_of_admins, "billing", None)
        olivia, adam = (house.api_for(house_of_admins, name) for name in ("olivia", "adam"))
        path = f"/api/v1/service-accounts/{made.pk}/tokens"
        first = post(olivia, path, {"name": "ci"}).json()

        assert post(adam, path, {"name": "mine"}).status_code == 403
        assert post(adam, path, {"name": "mine", "scopes": ["view_project"]}).status_code == 403
        assert post(adam, f"/api/v1/tokens/{first['id']}/rotate").status_code == 403
        assert by(first["secret"]).get("/api/v1/projects").status_code == 200
        browser = house.client_for(house_of_admins, "adam")
        page = browser.post(f"/organization/service-accounts/{made.pk}/tokens", {"name": "mine", "expires": "30"})
        assert page.status_code == 403
        with house_of_admins.scope():
            assert AccessToken.objects.filter(user=made.user).count() == 1

    def test_an_admin_gets_one_of_an_account_that_holds_no_more(self, house_of_admins):
        made = account(house_of_admins)
        adam = house.api_for(house_of_admins, "adam")

        first = post(adam, f"/api/v1/service-accounts/{made.pk}/tokens", {"name": "ci"})
        second = post(adam, f"/api/v1/tokens/{first.json()['id']}/rotate")

        assert (first.status_code, second.status_code) == (201, 201)

    def test_a_token_of_scopes_makes_one_within_them(self, house_of_admins):
        made = account(house_of_admins)
        _, secret = token(house_of_admins, "adam", scopes=["manage_service_accounts", "view_project"])

        answer = post(by(secret), f"/api/v1/service-accounts/{made.pk}/tokens", {"name": "ci"})

        assert answer.status_code == 201, answer.content
        assert answer.json()["scopes"] == ["manage_service_accounts", "view_project"]

    def test_who_rotates_one_is_its_maker(self, house_of_admins):
        made = account(house_of_admins)
        olivia, adam = (house.api_for(house_of_admins, name) for name in ("olivia", "adam"))
        first = post(olivia, f"/api/v1/service-accounts/{made.pk}/tokens", {"name": "ci"}).json()

        second = post(adam, f"/api/v1/tokens/{first['id']}/rotate").json()

        with house_of_admins.scope():
            assert AccessToken.objects.get(pk=second["id"]).created_by == house_of_admins.people["adam"].pk

    def test_no_role_makes_a_living_token_reach_further_than_its_maker(self, house_of_admins):
        made = account(house_of_admins)
        adam = house.api_for(house_of_admins, "adam")
        theirs = post(adam, f"/api/v1/service-accounts/{made.pk}/tokens", {"name": "ci"}).json()

        with pytest.raises(Conflict) as refused:
            self.give(house_of_admins, made, "billing")
        assert refused.value.code == "token_reaches_further"
        assert self.give(house_of_admins, made, "auditor").role == "auditor"

        adam.delete(f"/api/v1/tokens/{theirs['id']}")
        assert self.give(house_of_admins, made, "billing").role == "billing"

    @staticmethod
    def give(tenant, made, role):
        with house.an_act(), tenant.scope():
            return memberships.give(
                actor=tenant.actor("olivia"), place=tenant.organization, user=made.user, role=role, now=timezone.now()
            )
