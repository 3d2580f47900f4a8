"""A person who is erased leaves an id and nothing that names them; audit entries never held more."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from core import scope
from core.errors import Conflict, Forbidden, Invalid, NotFound, Refused
from core.models import AuditEvent
from portal.erasing import erase as erase_for_good
from portal.identity import SESSION_IMPERSONATION, SESSION_PROVIDER
from provisioning.services import wishes
from tenants.enums import PlatformRole, Standing
from tenants.models import Membership, Organization, User
from tenants.services import impersonations, invitations, quota_requests, quotas
from tests import house, places
from tests.api.ask import UNKNOWN, is_problem, send
from tests.house import SYSTEM, an_act
from tests.provisioning import stage

pytestmark = pytest.mark.django_db
WHY = "Asked for in ticket 4711."
FORM = {"confirmed": "alice@aurora.example", "password": house.PASSWORD}


def erase(user, actor=SYSTEM, *, reason=WHY, confirmed=""):
    with an_act():
        erase_for_good(
            actor=actor,
            user_id=user.pk,
            confirmed=confirmed or user.email,
            reason=reason,
            now=timezone.now(),
        )


def governor(aurora):
    house.platform_person(aurora, "petra", PlatformRole.ADMIN)
    return aurora.actor("petra")


def everywhere(*words: str) -> list[str]:
    """Each text and JSON column of the database that says one of these words."""
    columns = """SELECT table_name, column_name FROM information_schema.columns
        JOIN information_schema.tables USING (table_schema, table_name)
        WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
        AND (data_type IN ('text', 'character varying', 'json', 'jsonb', 'ARRAY'))"""
    found = []
    with connection.cursor() as cursor:
        cursor.execute(columns)
        for table, column in cursor.fetchall():
            for word in words:
                said = f'SELECT count(*) FROM "{table}" WHERE position(lower(%s) in lower("{column}"::text)) > 0'
                cursor.execute(said, [word])
                if cursor.fetchone()[0]:
                    found.append(f"{table}.{column}: {word}")
    return found


class TestErasure:
    def test_replaces_what_names_them_and_ends_all_they_hold(self, aurora):
        alice = aurora.people["alice"]
        browser = house.client_for(aurora, "alice")
        script = house.api_for(aurora, "alice")
        assert (browser.get("/").status_code, script.get("/api/v1/me").status_code) == (200, 200)

        erase(alice)

        gone = User.objects.get(pk=alice.pk)
        assert (gone.full_name, gone.email) == ("Erased person", f"erased-{alice.pk}@erased.invalid")
        assert not gone.is_active
        assert not gone.has_usable_password()
        assert browser.get("/").status_code == 302
        assert script.get("/api/v1/me").status_code == 401
        with aurora.scope():
            assert not Membership.objects.filter(user=alice).exists()

    def test_is_told_once_to_the_platform_and_once_to_each_organisation(self, aurora, borealis):
        house.token_for(aurora, "alice")
        alice = aurora.people["alice"]
        erase(alice)

        with scope.of_platform():
            told = {row.organization_id: row for row in AuditEvent.objects.filter(verb="person.erased")}
        here = told.pop(aurora.organization.pk)
        [platform] = told.values()
        assert (here.object_id, here.before) == (str(alice.pk), {"roles": ["developer", "developer"]})
        assert platform.object_id == str(alice.pk)
        assert platform.after
        assert (platform.after["tokens"], platform.after["roles"], platform.after["reason"]) == (1, 2, WHY)
        call_command("verify_audit", stdout=StringIO())

    def test_leaves_neither_address_nor_name_in_any_column(self, aurora, borealis):
        """She is invited, asks, is searched for, acted for and named in reasons: by herself and by others."""
        alice = aurora.people["alice"]
        User.objects.filter(pk=alice.pk).update(full_name="Zebediah Quux")
        address, now = alice.email, timezone.now()
        olivia = house.api_for(aurora, "olivia")
        places.invited(borealis, address)
        send(olivia, "post", "/api/v1/invitations", {"email": address, "role": "auditor"}, Idempotency_Key="one")
        house.client_for(aurora, "olivia").post("/audit/views", {"name": "Her", "query": f'{{"q": "{address}"}}'})
        with an_act(), aurora.scope():
            own = quotas.define_one(
                actor=aurora.actor("olivia"), place=alice, resource="vcpus", terms=quotas.Terms(8), now=now
            )
        with an_act(), aurora.scope():
            asked = quota_requests.ask(
                actor=aurora.actor("alice"),
                quota_id=own.pk,
                limit=16,
                justification=f"Ask {address.upper()} about it.",
                until=None,
                now=now,
            )
        house.platform_person(aurora, "paula", PlatformRole.OPERATOR)
        with an_act(), aurora.scope():
            impersonations.begin(
                actor=aurora.actor("paula"),
                person_id=alice.pk,
                reason=f"{address} asked us to look.",
                lasts=timedelta(minutes=5),
                now=now,
            )
        assert len(everywhere(address, "Quux")) >= 8

        erase(User.objects.get(pk=alice.pk))

        assert everywhere(address, "Quux") == []
        asked.refresh_from_db()
        assert (asked.state, asked.justification) == ("voided", "Ask [address] about it.")

    def test_the_same_address_comes_back_as_somebody_new(self, aurora):
        old = aurora.people["alice"]
        address = old.email
        erase(old)

        with an_act(), aurora.scope():
            _, secret = invitations.create(
                actor=aurora.actor("olivia"),
                place=aurora.organization,
                email=address,
                role="auditor",
                now=timezone.now(),
            )
        answer = Client().post("/join", {"code": secret, "full_name": "Alice Anew", "password": house.PASSWORD})

        assert answer.status_code == 302
        new = User.objects.get(email=address)
        assert new.pk != old.pk
        with aurora.scope():
            assert list(Membership.objects.filter(user=new).values_list("role", flat=True)) == ["auditor"]

    def test_the_log_shows_the_placeholder_afterwards(self, aurora):
        house.api_for(aurora, "alice")
        erase(aurora.people["alice"])

        text = house.client_for(aurora, "olivia").get("/audit").content.decode()

        assert "Erased person" in text
        assert "alice@aurora.example" not in text

    def test_twice_is_a_conflict(self, aurora):
        erase(aurora.people["bob"])

        with pytest.raises(Conflict):
            erase(aurora.people["bob"])

    def test_by_command(self, aurora):
        out = StringIO()

        call_command("erase_person", str(aurora.people["bob"].pk), stdout=out)

        assert "is erased" in out.getvalue()
        with pytest.raises(CommandError, match="There is no person"):
            call_command("erase_person", str(aurora.organization.pk))


class TestHindrances:
    def test_are_told_all_at_once_and_keep_everything(self, aurora, borealis):
        """Olivia alone owns Aurora and administers the platform, and something of hers waits to run."""
        stage.open_shop()
        olivia = aurora.people["olivia"]
        User.objects.filter(pk=olivia.pk).update(platform_role=PlatformRole.ADMIN)
        workload = stage.launch(aurora, "olivia", shape="cpu-4", now=timezone.now())

        with pytest.raises(Refused) as refused:
            erase(olivia)

        assert [reason.code for reason in refused.value.reasons] == [
            "last_owner",
            "last_administrator",
            "still_running",
        ]
        assert workload.name in refused.value.reasons[-1].message
        assert User.objects.get(pk=olivia.pk).is_active

    def test_a_closed_organisation_needs_no_owner(self, aurora):
        Organization._base_manager.filter(pk=aurora.organization.pk).update(standing=Standing.CLOSED)

        erase(aurora.people["olivia"])

    def test_what_is_stopped_stays_with_its_project(self, aurora):
        stage.open_shop()
        clock = stage.Clock()
        machine = stage.Machine(clock)
        workload = stage.settle(aurora, stage.launch(aurora, shape="cpu-4", now=clock.now), machine, clock, seconds=3)
        stage.wish(aurora, "alice", wishes.stop, workload, clock.now)
        stage.settle(aurora, workload, machine, clock, seconds=3)

        erase(aurora.people["alice"])

        page = house.client_for(aurora, "olivia").get(f"/workspaces/{workload.pk}").content.decode()
        assert "Erased person" in page


class TestWhoMay:
    @pytest.mark.parametrize("person", ["olivia", "bob", "victor"])
    def test_nobody_of_the_organisation_erases_another(self, aurora, person):
        with pytest.raises(NotFound):
            erase(aurora.people["alice"], aurora.actor(person))

    @pytest.mark.parametrize("role", [PlatformRole.OPERATOR, PlatformRole.AUDITOR])
    def test_a_lesser_role_of_the_platform_does_not(self, aurora, role):
        house.platform_person(aurora, "paul", role)
        with pytest.raises(Forbidden):
            erase(aurora.people["alice"], aurora.actor("paul"))

    @pytest.mark.parametrize(
        ("reason", "code"),
        [
            ("short", "too_short"),
            ("x" * 301, "too_long"),
            ("The wish of alice herself.", "names_the_person"),
            ("The wish of ALICE@aurora.example.", "names_the_person"),
        ],
    )
    def test_the_platform_says_why_without_the_name(self, aurora, reason, code):
        with pytest.raises(Invalid) as invalid:
            erase(aurora.people["alice"], governor(aurora), reason=reason)

        assert [error.code for error in invalid.value.errors] == [code]

    def test_the_address_has_to_be_typed(self, aurora):
        with pytest.raises(Invalid, match="to confirm"):
            erase(aurora.people["alice"], aurora.actor("alice"), confirmed="bob@aurora.example")


class TestOwnPage:
    def test_erases_after_password_and_address_and_says_goodbye(self, aurora):
        alice, other = house.client_for(aurora, "alice"), house.client_for(aurora, "alice")
        assert "Type alice@aurora.example to confirm" in alice.get("/account/erase").content.decode()

        answer = alice.post("/account/erase", FORM)

        assert "Your account is erased" in answer.content.decode()
        assert [one.get("/").status_code for one in (alice, other)] == [302, 302]
        assert User.objects.get(pk=aurora.people["alice"].pk).is_erased

    @pytest.mark.parametrize("wrong", [{"password": "wrong"}, {"confirmed": "bob@aurora.example"}, {"password": ""}])
    def test_keeps_the_account_where_either_is_wrong(self, aurora, wrong):
        alice = house.client_for(aurora, "alice")

        assert alice.post("/account/erase", {**FORM, **wrong}).status_code == 400
        assert alice.get("/").status_code == 200

    def test_says_what_hinders_and_offers_no_button(self, aurora):
        page = house.client_for(aurora, "olivia").get("/account/erase").content.decode()

        assert "Aurora would be left without an owner" in page
        assert "Type olivia" not in page

    def test_is_there_for_one_who_belongs_to_nobody(self, aurora):
        person = User.objects.create_user("lone@nowhere.example", house.PASSWORD, full_name="Lone")
        lone = house.client_for(house.Tenant(aurora.organization, {}, {"lone": person}), "lone")
        assert "/account/erase" in lone.get("/").content.decode()

        answer = lone.post("/account/erase", {**FORM, "confirmed": person.email})

        assert "Your account is erased" in answer.content.decode()

    def test_is_there_for_one_who_sets_up_no_second_factor(self, aurora):
        Organization._base_manager.filter(pk=aurora.organization.pk).update(mfa_required=True)

        assert house.client_for(aurora, "alice").get("/account/erase").status_code == 200

    def test_is_nothing_for_who_acts_for_somebody_or_came_by_a_provider(self, aurora):
        house.platform_person(aurora, "paula", PlatformRole.OPERATOR)
        with an_act(), aurora.scope():
            begun = impersonations.begin(
                actor=aurora.actor("paula"),
                person_id=aurora.people["alice"].pk,
                reason="She asked us to look at her form.",
                lasts=timedelta(minutes=5),
                now=timezone.now(),
            )
        paula, bound = house.client_for(aurora, "paula"), house.client_for(aurora, "alice")
        for client, key, value in (
            (paula, SESSION_IMPERSONATION, [str(begun.pk), str(aurora.organization.pk)]),
            (bound, SESSION_PROVIDER, UNKNOWN),
        ):
            session = client.session
            session[key] = value
            session.save()

        assert [client.get("/account/erase").status_code for client in (paula, bound)] != [200, 200]
        assert paula.post("/account/erase", FORM).status_code == 403
        assert bound.post("/account/erase", FORM).status_code != 200
        assert not User.objects.get(pk=aurora.people["alice"].pk).is_erased


class TestConsole:
    def test_finds_shows_and_erases(self, aurora):
        governor(aurora)
        petra, alice = house.client_for(aurora, "petra"), aurora.people["alice"]
        assert f"/console/people/{alice.pk}" in petra.get("/console/people?q=ALICE").content.decode()
        assert "aurora/vision" in petra.get(f"/console/people/{alice.pk}").content.decode()

        refused = petra.post(f"/console/people/{alice.pk}/erase", {"reason": "Alice asked.", "confirmed": alice.email})
        done = petra.post(f"/console/people/{alice.pk}/erase", {"reason": WHY, "confirmed": alice.email})

        assert "without the person&#x27;s name" in refused.content.decode()
        assert (refused.status_code, done.status_code) == (400, 302)
        assert "alice" not in petra.get("/console/people").content.decode()
        assert petra.get(f"/console/people/{alice.pk}").status_code == 409


class TestApi:
    def test_tells_before_what_would_go_and_what_hinders(self, aurora):
        olivia = house.api_for(aurora, "olivia")

        body = {"email": "olivia@aurora.example", "password": house.PASSWORD}

        told = send(olivia, "delete", "/api/v1/me?dry_run=true", body).json()

        assert (told["erased"], told["holds"]["tokens"], told["holds"]["roles"]) == (False, 1, 1)
        assert [reason["code"] for reason in told["hindered_by"]] == ["last_owner"]
        is_problem(send(olivia, "delete", "/api/v1/me", body), 409, "still_needed")

    def test_a_token_needs_the_password_and_no_scopes(self, aurora):
        alice = house.api_for(aurora, "alice")
        narrow = {"Authorization": f"Bearer {house.token_for(aurora, 'alice', scopes=('view_workload',))}"}
        body = {"email": "alice@aurora.example", "password": house.PASSWORD}

        assert send(alice, "delete", "/api/v1/me", {**body, "password": "wrong"}).status_code == 400
        assert send(Client(headers=narrow), "delete", "/api/v1/me", body).status_code == 403
        assert send(alice, "delete", "/api/v1/me", body).json()["erased"]
        assert alice.get("/api/v1/me").status_code == 401

    def test_the_platform_finds_foresees_and_erases(self, aurora):
        governor(aurora)
        petra, bob = house.api_for(aurora, "petra"), aurora.people["bob"]
        [found] = petra.get("/api/v1/people?q=bob").json()["results"]
        address = f"/api/v1/people/{found['id']}"

        assert (found["email"], found["organizations"]) == (bob.email, ["aurora"])
        body = {"email": bob.email, "reason": WHY}

        assert send(petra, "delete", f"{address}?dry_run=true", body).json()["hindered_by"] == []
        assert send(petra, "delete", address, body).json()["erased"]
        is_problem(send(petra, "delete", address, body), 409, "already_erased")
        assert petra.get("/api/v1/people?q=bob").json()["results"] == []

    def test_people_are_there_for_the_platform_alone(self, aurora):
        house.platform_person(aurora, "audra", PlatformRole.AUDITOR)

        assert house.api_for(aurora, "olivia").get("/api/v1/people").status_code == 404
        assert house.api_for(aurora, "audra").get("/api/v1/people").status_code == 403


class TestPersonalData:
    def test_no_entry_holds_an_address_or_a_full_name(self, aurora, borealis):
        """People with names of their own do what people do, and are refused."""
        for index, person in enumerate(User.objects.all()):
            User.objects.filter(pk=person.pk).update(full_name=f"Zebediah{index} Quux")
        olivia, alice = house.client_for(aurora, "olivia"), house.client_for(aurora, "alice")
        Client().post("/accounts/login/", {"login": "alice@aurora.example", "password": "wrong"})
        alice.post("/tokens", {"name": "script", "expires": "30"})
        alice.get("/audit")
        olivia.post("/audit/views", {"name": "One", "query": '{"q": "Zebediah1 Quux bob@aurora.example"}'})
        olivia.get("/audit/export?format=csv&actor=bob@aurora.example")
        olivia.post("/organization/invitations", {"email": "nora@new.example", "place": "", "role": "viewer"})
        house.api_for(borealis, "boris").get("/api/v1/workloads/alice@aurora.example")

        with scope.of_platform():
            events = list(AuditEvent.objects.values())
        text = repr(events)
        assert len(events) > 15
        assert "@" not in text
        assert "Quux" not in text
