"""Handing an organisation over, suspending it, closing it: what ends, and when."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from core.errors import Conflict, Forbidden, Invalid, NotFound, Refused
from core.models import AuditEvent
from portal.closing import totals
from provisioning.models import WorkspaceEntry
from provisioning.services import entries, wishes
from tenants.models import Invitation, Membership, Organization, Project, ServiceAccount
from tenants.services import closing, invitations, ownership, projects, standing, tokens
from tenants.services.invitations import InvitationGone
from tenants.services.projects import ProjectFacts
from tests import house, places
from tests.api.ask import send
from tests.api.scenarios import running
from tests.provisioning import stage

pytestmark = pytest.mark.django_db


def transfer(tenant, to="alice", *, by="olivia", then="admin", confirmed=None):
    with house.an_act(), tenant.scope():
        ownership.transfer(
            actor=tenant.actor(by),
            organization=tenant.organization,
            to_user_id=tenant.people[to].pk,
            then=then,
            confirmed=confirmed if confirmed is not None else tenant.organization.slug,
            now=timezone.now(),
        )


def close(tenant, *, by="olivia", now=None):
    at = now or timezone.now()
    with house.an_act(), tenant.scope():
        actor = tenant.actor(by)
        return closing.close(
            actor=actor,
            organization=tenant.organization,
            confirmed=tenant.organization.slug,
            final_bill=partial(totals, actor, at),
            now=at,
        )


def role_of(tenant, name):
    with tenant.scope():
        held = Membership.objects.filter(user=tenant.people[name], project=None, team=None).first()
        return held.role if held else None


class TestTransfer:
    def test_makes_the_heir_owner_and_the_former_one_what_it_chose(self, aurora):
        transfer(aurora, then="auditor")

        assert (role_of(aurora, "alice"), role_of(aurora, "olivia")) == ("owner", "auditor")

    def test_may_be_a_leaving(self, aurora):
        transfer(aurora, then=ownership.LEAVES)

        with aurora.scope():
            assert not Membership.objects.filter(user=aurora.people["olivia"]).exists()

    @pytest.mark.parametrize("by", ["alice", "billie"])
    def test_is_the_owners_alone(self, aurora, by):
        house.join(aurora, "adam", "admin")
        for person in (by, "adam"):
            with pytest.raises(Forbidden):
                transfer(aurora, "bob", by=person)

    def test_is_confirmed_by_the_slug_and_goes_to_a_member_who_can_sign_in(self, aurora, borealis):
        with pytest.raises(Invalid):
            transfer(aurora, confirmed="aurorra")
        with pytest.raises(Invalid):
            transfer(aurora, "olivia")
        with pytest.raises(Invalid):
            transfer(aurora, then="owner")
        aurora.people["charlie"] = borealis.people["charlie"]
        with pytest.raises(NotFound):
            transfer(aurora, "charlie")
        aurora.people["nightly"] = places.account(aurora).user
        with pytest.raises(Conflict):
            transfer(aurora, "nightly")

    def test_c116_ends_the_old_owners_tokens_sessions_cookies_and_links(self, aurora):
        """Each way in rests on a token or a session; the proxy asks about both every few seconds, so 60 s is ample."""
        house.join(aurora, "olivia", "developer", projects=("vision",))
        workload = running(aurora)
        with aurora.scope():
            type(workload).objects.filter(pk=workload.pk).update(owner=aurora.people["olivia"])
        api, pages = house.api_for(aurora, "olivia"), house.client_for(aurora, "olivia")
        assert (api.get("/api/v1/me").status_code, pages.get("/usage").status_code) == (200, 200)
        by_session = _opened(aurora, workload, session_key=pages.session.session_key)
        token_cookie = _opened(aurora, workload, token_of=aurora)
        now = timezone.now()
        unspent = _link(aurora, workload, session_key=pages.session.session_key)
        assert entries.recheck([by_session, token_cookie], now) == {by_session, token_cookie}

        transfer(aurora)

        assert api.get("/api/v1/me").status_code == 401
        assert pages.get("/usage").status_code == 302
        assert entries.recheck([by_session, token_cookie], now) == set()
        with house.an_act():
            redeemed = entries.redeem(label=unspent.label, code=unspent.code, now=now)
        assert isinstance(redeemed, entries.Denied)

    def test_leaves_other_peoples_ways_in_alone(self, aurora):
        alice, api = house.client_for(aurora, "alice"), house.api_for(aurora, "alice")
        alice.get("/usage")

        transfer(aurora)

        assert (alice.get("/usage").status_code, api.get("/api/v1/me").status_code) == (200, 200)

    def test_by_the_page_asks_for_the_password(self, aurora):
        olivia = house.client_for(aurora, "olivia")
        form = {"to": str(aurora.people["alice"].pk), "then": "admin", "confirmed": "aurora", "password": "wrong"}

        refused = olivia.post("/organization/transfer", form)
        assert (refused.status_code, role_of(aurora, "alice")) == (400, None)
        assert b"This is not your password" in refused.content
        done = olivia.post("/organization/transfer", {**form, "password": house.PASSWORD})

        assert (done.status_code, role_of(aurora, "alice")) == (302, "owner")
        assert olivia.get("/usage").headers["Location"].startswith("/accounts/login/")


def _link(tenant, workload, *, session_key="", token_id=None):
    actor = replace(tenant.actor("olivia"), session_key=session_key, token_id=token_id)
    with house.an_act(), tenant.scope():
        return entries.open_entry(actor=actor, workload_id=workload.pk, now=timezone.now())


def _opened(tenant, workload, *, session_key="", token_of=None):
    """The pass key of a cookie that a one-time link has bought."""
    token_id = None
    if token_of is not None:
        with house.an_act(), tenant.scope():
            token, _ = tokens.create(
                actor=tenant.actor("olivia"),
                organization=tenant.organization,
                name="cli",
                scopes=(),
                expires_at=None,
                now=timezone.now(),
            )
            token_id = token.pk
    opened = _link(tenant, workload, session_key=session_key, token_id=token_id)
    with house.an_act():
        entered = entries.redeem(label=opened.label, code=opened.code, now=timezone.now())
    assert isinstance(entered, entries.Entered), entered
    with tenant.scope():
        newest = WorkspaceEntry.objects.latest("created_at")
    return f"{tenant.organization.pk}/{newest.pk}"


class TestStanding:
    def suspend(self, tenant, reason="The bill of October is open.", role="platform_admin"):
        person = house.platform_person(tenant, f"paula-{role}-{len(reason)}", role)
        actor = replace(house.actor_for(person, tenant.organization), platform_role=role)
        with house.an_act(), tenant.scope():
            return standing.suspend(
                actor=actor, organization=tenant.organization, reason=reason, now=timezone.now()
            ), actor

    def test_that_is_suspended_starts_nothing_new_and_leaves_what_runs(self, aurora):
        workload = running(aurora)

        self.suspend(aurora)

        with aurora.scope():
            aurora.projects["vision"] = Project.objects.select_related("organization").get(slug="vision")
        with pytest.raises(Refused) as refusal:
            stage.launch(aurora, now=timezone.now())
        assert "organization_suspended" in {reason.code for reason in refusal.value.reasons}
        assert stage.fresh(aurora, workload).state == "running"
        page = house.client_for(aurora, "alice").get("/").content.decode()
        assert "Aurora is suspended: The bill of October is open." in page

    def test_is_restored(self, aurora):
        _, actor = self.suspend(aurora)
        with house.an_act(), aurora.scope():
            standing.restore(actor=actor, organization=aurora.organization, now=timezone.now())

        stage.open_shop()
        assert stage.launch(aurora, now=timezone.now())
        with aurora.scope():
            verbs = AuditEvent.objects.filter(object_kind="organization").values_list("verb", flat=True)
            assert {"organization.suspended", "organization.restored"} <= set(verbs)

    def test_is_the_platforms_to_set_with_a_reason(self, aurora):
        with pytest.raises(NotFound), house.an_act(), aurora.scope():
            standing.suspend(
                actor=aurora.actor("olivia"), organization=aurora.organization, reason="x", now=timezone.now()
            )
        with pytest.raises(Forbidden):
            self.suspend(aurora, role="platform_auditor")
        with pytest.raises(Invalid):
            self.suspend(aurora, reason=" ")


class TestClosing:
    def test_is_refused_with_each_thing_that_lives(self, aurora):
        workload = running(aurora)

        with pytest.raises(Refused) as refusal:
            close(aurora)

        assert refusal.value.code == "still_living"
        assert any(workload.name in reason.message for reason in refusal.value.reasons)
        with aurora.scope():
            assert Organization.objects.get(pk=aurora.organization.pk).standing == "good"

    def test_ends_every_way_in_and_keeps_what_was(self, aurora):
        stage.open_shop()
        clock = stage.Clock(timezone.now() - timedelta(hours=2))
        machine = stage.Machine(clock)
        workload = stage.settle(aurora, stage.launch(aurora, now=clock.now), machine, clock)
        clock.now += timedelta(hours=1)
        stage.wish(aurora, "alice", wishes.delete, workload, clock.now)
        stage.settle(aurora, workload, machine, clock)
        invitation, secret = places.invited(aurora)
        account = places.account(aurora)
        api, pages = house.api_for(aurora, "alice"), house.client_for(aurora, "alice")
        pages.get("/usage")

        closed = close(aurora)

        assert (closed.standing, closed.closed_at is not None) == ("closed", True)
        with aurora.scope():
            assert not Project.objects.filter(closed_at=None).exists()
            assert Invitation.objects.get(pk=invitation.pk).revoked_at
            assert ServiceAccount.objects.get(pk=account.pk).disabled_at
            event = AuditEvent.objects.get(verb="organization.closed")
            bill = (event.after or {})["final_bill"]
        assert all(total.endswith(" USD") for total in bill.values())
        assert any(not total.startswith("0.00") for total in bill.values())
        assert api.get("/api/v1/me").status_code == 401
        assert pages.get("/usage").status_code == 302
        with pytest.raises(InvitationGone):
            invitations.offered(secret=secret, now=timezone.now())
        with pytest.raises(Invalid):
            house.found("aurora", projects=())

    @pytest.mark.parametrize("body", [None, {}, {"slug": "borealis"}])
    def test_by_api_needs_the_slug(self, aurora, body):
        where, api = f"/api/v1/organizations/{aurora.organization.pk}", house.api_for(aurora, "olivia")

        assert send(api, "delete", where, body).status_code == 400
        assert send(api, "delete", where, {"slug": "aurora"}).status_code == 200

    def test_leaves_reading_to_members_and_changes_to_nobody(self, aurora):
        close(aurora)

        olivia = house.client_for(aurora, "olivia")
        for path in ("/usage", "/invoice", "/audit", "/organization/close", "/organization/members"):
            assert olivia.get(path).status_code == 200, path
        assert ">final</span>" in olivia.get("/invoice").content.decode()
        for path, form in (
            ("/organization/settings/change", {"name": "Again", "time_zone": "UTC"}),
            ("/organization/service-accounts/new", {"name": "x"}),
            ("/organization/teams/new", {"name": "X", "slug": "xx"}),
        ):
            assert olivia.post(path, form).status_code == 409, path
        with pytest.raises(Refused), house.an_act(), aurora.scope():
            projects.create(
                actor=aurora.actor("olivia"),
                organization=Organization.objects.get(pk=aurora.organization.pk),
                slug="robots",
                facts=ProjectFacts(name="Robots"),
                now=timezone.now(),
            )

    def test_keeps_the_session_that_asked_and_no_other(self, aurora):
        here, there = house.client_for(aurora, "olivia"), house.client_for(aurora, "olivia")
        there.get("/usage")
        form = {"confirmed": "aurora", "password": house.PASSWORD}

        response = here.post("/organization/close", form, follow=True)

        assert response.status_code == 200
        assert b"Aurora is closed" in response.content
        assert b"Final bill" in response.content
        assert there.get("/usage").status_code == 302
        assert Session.objects.count() == 1
        assert Client().get("/usage").status_code == 302

    def test_is_the_owners_alone(self, aurora):
        house.join(aurora, "adam", "admin")

        with pytest.raises(Forbidden):
            close(aurora, by="adam")
