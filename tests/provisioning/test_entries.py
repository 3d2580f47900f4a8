"""The way into a workspace: one code, one cookie, and both end with what they rest on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session

from core.errors import Forbidden, NotFound
from provisioning.errors import WrongState
from provisioning.services import entries, wishes
from provisioning.services.entries import Admitted, Denied, Entered
from tenants.models import Membership
from tenants.services import memberships, tokens
from tests import house
from tests.provisioning.stage import launch, settle, wish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shop")]

KEY = "k" * 32


@pytest.fixture
def running(aurora, clock, machine):
    Session.objects.create(session_key=KEY, session_data="", expire_date=clock.now + timedelta(days=14))
    return settle(aurora, launch(aurora), machine, clock, seconds=2)


def open_for(tenant, name, workload, clock, *, path="/lab"):

    with house.an_act(), tenant.scope():
        actor = replace(tenant.actor(name), session_key=KEY)
        return entries.open_entry(actor=actor, workload_id=workload.pk, now=clock.now, path=path)


def redeem(label, code, clock):
    with house.an_act():
        return entries.redeem(label=label, code=code, now=clock.now)


def enter(tenant, workload, clock):
    opened = open_for(tenant, "alice", workload, clock)
    entered = redeem(opened.label, opened.code, clock)
    assert isinstance(entered, Entered)
    return opened.label, entered.cookie_value


def admit(label, cookie, clock, machine):
    return entries.admit(label=label, cookie=cookie, drivers=lambda _: machine, now=clock.now)


class TestCode:
    def test_buys_one_cookie_once(self, aurora, clock, machine, running):
        opened = open_for(aurora, "alice", running, clock)

        first, second = redeem(opened.label, opened.code, clock), redeem(opened.label, opened.code, clock)

        assert isinstance(first, Entered)
        assert first.path == "/lab"
        assert isinstance(second, Denied)
        assert second.status == 410

    @pytest.mark.parametrize(("seconds", "good"), [(29.9, True), (30, False)])
    def test_lives_thirty_seconds(self, aurora, clock, machine, running, seconds, good):
        opened = open_for(aurora, "alice", running, clock)
        clock.pass_(seconds=seconds)

        assert isinstance(redeem(opened.label, opened.code, clock), Entered) is good

    def test_opens_no_other_workspace(self, aurora, clock, machine, running):
        opened = open_for(aurora, "alice", running, clock)

        assert isinstance(redeem("wother", opened.code, clock), Denied)

    def test_is_for_the_owner_of_what_runs(self, aurora, borealis, clock, machine, running):
        for name in ("bob", "olivia", "victor"):
            with pytest.raises(Forbidden):
                open_for(aurora, name, running, clock)
        with pytest.raises(NotFound):
            open_for(borealis, "charlie", running, clock)
        with pytest.raises(WrongState):
            open_for(aurora, "alice", launch(aurora, shape="cpu-4"), clock)

    def test_leads_to_the_workspace_alone(self, aurora, clock, machine, running):
        assert open_for(aurora, "alice", running, clock, path="//evil.example/x").path == "/"


class TestCookie:
    def test_admits_to_its_workspace_and_no_other(self, aurora, clock, machine, running):
        label, cookie = enter(aurora, running, clock)

        admitted = admit(label, cookie, clock, machine)

        assert isinstance(admitted, Admitted)
        assert admitted.unix_socket == f"/run/{running.pk}"
        assert entries.recheck([admitted.pass_key], clock.now) == {admitted.pass_key}
        assert isinstance(admit("wother", cookie, clock, machine), Denied)
        assert isinstance(admit(label, "made-up", clock, machine), Denied)

    def test_waits_while_the_cluster_does_not_answer(self, aurora, clock, machine, running):
        label, cookie = enter(aurora, running, clock)
        machine.down = True

        refused = admit(label, cookie, clock, machine)

        assert isinstance(refused, Denied)
        assert (refused.status, refused.code) == (503, "cluster_unreachable")

    def check_ended(self, label, cookie, key, clock, machine, status):
        refused = admit(label, cookie, clock, machine)
        assert isinstance(refused, Denied)
        assert refused.status == status
        assert entries.recheck([key], clock.now) == set()

    def test_ends_with_the_session(self, aurora, clock, machine, running):
        label, cookie = enter(aurora, running, clock)
        key = admit(label, cookie, clock, machine).pass_key
        Session.objects.all().delete()

        self.check_ended(label, cookie, key, clock, machine, 401)

    def test_ends_with_the_membership(self, aurora, clock, machine, running):
        label, cookie = enter(aurora, running, clock)
        key = admit(label, cookie, clock, machine).pass_key
        with house.an_act(), aurora.scope():
            held = Membership.objects.get(user=aurora.people["alice"], project=aurora.projects["vision"])
            memberships.revoke(actor=house.SYSTEM, membership=held, now=clock.now)

        self.check_ended(label, cookie, key, clock, machine, 404)

    def test_ends_with_the_person(self, aurora, clock, machine, running):
        label, cookie = enter(aurora, running, clock)
        key = admit(label, cookie, clock, machine).pass_key
        aurora.people["alice"].is_active = False
        aurora.people["alice"].save()

        self.check_ended(label, cookie, key, clock, machine, 401)

    def test_does_not_hold_while_nothing_runs(self, aurora, clock, machine, running):
        label, cookie = enter(aurora, running, clock)
        key = admit(label, cookie, clock, machine).pass_key
        wish(aurora, "alice", wishes.stop, running, clock.now)

        self.check_ended(label, cookie, key, clock, machine, 503)

    def test_ends_with_the_token_that_asked(self, aurora, clock, machine, running):

        with house.an_act(), aurora.scope():
            token, _ = tokens.create(
                actor=aurora.actor("alice"), organization=aurora.organization, name="t", scopes=(), expires_at=None,
                now=clock.now,
            )  # fmt: skip
        with house.an_act(), aurora.scope():
            actor = replace(aurora.actor("alice"), token_id=token.pk)
            opened = entries.open_entry(actor=actor, workload_id=running.pk, now=clock.now)
        entered = redeem(opened.label, opened.code, clock)
        assert isinstance(entered, Entered)
        key = admit(opened.label, entered.cookie_value, clock, machine).pass_key
        with house.an_act(), aurora.scope():
            tokens.revoke(actor=aurora.actor("alice"), token_id=token.pk, now=clock.now)

        self.check_ended(opened.label, entered.cookie_value, key, clock, machine, 401)

    def test_is_forgotten_a_day_after_its_end(self, aurora, clock, machine, running):
        enter(aurora, running, clock)

        assert entries.forget_expired(now=clock.now + timedelta(hours=13)) == 0
        assert entries.forget_expired(now=clock.now + timedelta(days=2)) == 2
