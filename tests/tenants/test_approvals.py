"""Approvals: who may decide, how often, until when, and that nothing follows twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import Error, transaction

from core import scope
from core.errors import Conflict, Forbidden, NotFound, Refused
from core.ids import uuid7
from core.models import AuditEvent
from core.types import ActorKind, ObjectRef
from tenants.models import Approval, User
from tenants.selectors.approvals import approvals_visible_to, approvals_waiting_for
from tenants.services import approvals, memberships, service_accounts, tokens
from tenants.services.approvals import Request
from tests import house
from tests.house import an_act

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def house_of_deciders(aurora):
    """Aurora with a second owner and a lead of the project vision."""
    house.join(aurora, "oscar", "owner")
    house.join(aurora, "lea", "project_admin", projects=("vision",))
    return aurora


def request(tenant, **changes) -> Request:
    found = Request(
        kind="launch",
        subject=ObjectRef("workload", str(uuid7()), "training"),
        place=tenant.projects["vision"],
        justification="The big run.",
        payload={"shape": "h100-8"},
        rule="large-launches",
    )
    return replace(found, **changes)


def ask(tenant, person="alice", **changes) -> Approval:
    with an_act(), tenant.scope():
        return approvals.ask(actor=tenant.actor(person), request=request(tenant, **changes), now=NOW)


def decide(tenant, person, approval, act=approvals.approve, now=NOW, **words):
    with an_act(), tenant.scope():
        return act(actor=tenant.actor(person), approval_id=approval.pk, now=now, **words)


def events(tenant, verb):
    with tenant.scope():
        return AuditEvent.objects.filter(verb=verb).count()


class TestWhoDecides:
    def test_the_owner_approves_once_and_a_repeat_changes_nothing(self, aurora):
        approval = ask(aurora)

        first = decide(aurora, "olivia", approval, comment="Go on.")
        again = decide(aurora, "olivia", approval)

        assert (first.state, again.state, again.version) == ("approved", "approved", first.version)
        assert events(aurora, "approval.approved") == 1

    def test_nobody_decides_their_own_request(self, aurora):
        approval = ask(aurora, "olivia")

        with pytest.raises(Refused) as refused:
            decide(aurora, "olivia", approval)

        assert refused.value.reasons[0].code == "own_request"

    def test_a_developer_sees_it_and_may_not_decide(self, aurora):
        approval = ask(aurora)

        with pytest.raises(Forbidden):
            decide(aurora, "bob", approval)

    def test_a_stranger_finds_nothing(self, aurora, borealis):
        approval = ask(aurora)

        with an_act(), borealis.scope(), pytest.raises(NotFound):
            approvals.approve(actor=borealis.actor("boris"), approval_id=approval.pk, now=NOW)

    def test_the_projects_lead_decides_there_and_nowhere_else(self, house_of_deciders):
        here = ask(house_of_deciders)
        there = ask(house_of_deciders, place=house_of_deciders.projects["language"])

        assert decide(house_of_deciders, "lea", here).state == "approved"
        with pytest.raises(NotFound):
            decide(house_of_deciders, "lea", there)

    @pytest.mark.parametrize(
        ("change", "code"),
        [({"operator_id": uuid7()}, "on_behalf"), ({"kind": ActorKind.SERVICE_ACCOUNT}, "not_a_person")],
    )
    def test_eyes_are_a_persons_own(self, aurora, change, code):
        approval = ask(aurora)

        with an_act(), aurora.scope(), pytest.raises(Refused) as refused:
            approvals.approve(actor=replace(aurora.actor("olivia"), **change), approval_id=approval.pk, now=NOW)

        assert refused.value.reasons[0].code == code

    def test_what_the_platform_decides_is_not_the_owners_to_decide(self, aurora):
        approval = ask(aurora, decider="platform")

        with pytest.raises(NotFound):
            decide(aurora, "olivia", approval)


class TestWhoStandsBehind:
    """A service account asks for those who made it and its tokens; somebody acted for asks for the operator."""

    def asked_by(self, tenant, actor) -> Approval:
        with an_act(), tenant.scope():
            return approvals.ask(actor=actor, request=request(tenant), now=NOW)

    def account(self, tenant, maker, *, creator=None):
        """An account by `creator` (else the owner), with a token by `maker`."""
        with an_act(), tenant.scope():
            made = service_accounts.create(
                actor=creator or tenant.actor("olivia"), organization=tenant.organization, name="ci", now=NOW
            )
        with an_act(), tenant.scope():
            tokens.create_for_account(
                actor=tenant.actor(maker), account_id=made.pk, name="ci", scopes=(), expires_at=None, now=NOW
            )
        return replace(house.actor_for(made.user, tenant.organization), kind=ActorKind.SERVICE_ACCOUNT)

    def refused(self, tenant, person, approval):
        with pytest.raises(Refused) as refused:
            decide(tenant, person, approval)
        assert refused.value.reasons[0].code == "own_request"
        assert approval.pk not in inbox(tenant, person)

    def test_neither_the_accounts_maker_nor_its_tokens_decides(self, house_of_deciders):
        house.join(house_of_deciders, "adam", "admin")
        approval = self.asked_by(house_of_deciders, self.account(house_of_deciders, "oscar"))

        self.refused(house_of_deciders, "olivia", approval)
        self.refused(house_of_deciders, "oscar", approval)
        assert approval.pk in inbox(house_of_deciders, "adam")
        assert decide(house_of_deciders, "adam", approval).state == "approved"

    def test_nor_who_made_the_account_that_made_it(self, house_of_deciders):
        first = self.account(house_of_deciders, "olivia")
        with an_act(), house_of_deciders.scope():
            memberships.give(
                actor=house_of_deciders.actor("olivia"),
                place=house_of_deciders.organization,
                user=User.objects.get(pk=first.id),
                role="admin",
                now=NOW,
            )
        with an_act(), house_of_deciders.scope():
            second = service_accounts.create(
                actor=first, organization=house_of_deciders.organization, name="second", now=NOW
            )
        approval = self.asked_by(house_of_deciders, house.actor_for(second.user, house_of_deciders.organization))

        self.refused(house_of_deciders, "olivia", approval)
        assert decide(house_of_deciders, "oscar", approval).state == "approved"

    def test_nor_the_operator_who_acted_for_the_asker(self, house_of_deciders):
        operator = house_of_deciders.people["oscar"].pk
        approval = self.asked_by(house_of_deciders, replace(house_of_deciders.actor("alice"), operator_id=operator))

        self.refused(house_of_deciders, "oscar", approval)
        assert decide(house_of_deciders, "olivia", approval).state == "approved"

    def test_nor_when_the_platform_asks_again(self, house_of_deciders):
        alice, operator = house_of_deciders.actor("alice"), house_of_deciders.people["oscar"].pk
        first = self.asked_by(house_of_deciders, replace(alice, operator_id=operator))
        with an_act(), house_of_deciders.scope():
            approvals.void(actor=alice, approval_id=first.pk, now=NOW)
        with an_act(), house_of_deciders.scope():
            again = approvals.ask(
                actor=replace(house.SYSTEM, organization_id=house_of_deciders.organization.pk),
                request=request(house_of_deciders, subject=first.subject, asked_by=alice.id),
                now=NOW,
            )

        self.refused(house_of_deciders, "oscar", again)


class TestFourEyes:
    def test_two_people_are_needed(self, house_of_deciders):
        approval = ask(house_of_deciders, needed=2)

        assert decide(house_of_deciders, "olivia", approval).state == "open"
        assert decide(house_of_deciders, "olivia", approval).state == "open"
        assert decide(house_of_deciders, "oscar", approval).state == "approved"

    def test_one_refusal_is_enough(self, house_of_deciders):
        approval = ask(house_of_deciders, needed=2)
        decide(house_of_deciders, "olivia", approval)

        assert decide(house_of_deciders, "oscar", approval, approvals.refuse).state == "refused"

    def test_nobody_says_yes_and_no(self, house_of_deciders):
        approval = ask(house_of_deciders, needed=2)
        decide(house_of_deciders, "olivia", approval)

        with pytest.raises(Conflict) as conflict:
            decide(house_of_deciders, "olivia", approval, approvals.refuse)

        assert conflict.value.code == "already_decided"


class TestTheEnd:
    def test_what_has_run_out_cannot_be_decided_even_before_the_sweep(self, aurora):
        approval = ask(aurora)

        with pytest.raises(Conflict) as conflict:
            decide(aurora, "olivia", approval, now=NOW + approvals.LIFETIME)

        assert conflict.value.code == "expired"

    def test_the_sweep_lets_it_run_out_once(self, aurora):
        approval = ask(aurora)

        assert approvals.expire_due(now=NOW + approvals.LIFETIME - timedelta(seconds=1)) == 0
        assert approvals.expire_due(now=NOW + approvals.LIFETIME) == 1
        assert approvals.expire_due(now=NOW + approvals.LIFETIME) == 0

        with aurora.scope():
            assert Approval.objects.get(pk=approval.pk).state == "expired"
        assert events(aurora, "approval.expired") == 1

    def test_the_asker_takes_it_back_and_nobody_else_does(self, aurora):
        approval = ask(aurora)

        with pytest.raises(Refused):
            decide(aurora, "olivia", approval, approvals.void)
        assert decide(aurora, "alice", approval, approvals.void).state == "voided"
        with pytest.raises(Conflict):
            decide(aurora, "olivia", approval)

    def test_the_same_is_asked_once_at_a_time(self, aurora):
        approval = ask(aurora)

        with pytest.raises(Conflict):
            ask(aurora, subject=approval.subject)
        decide(aurora, "olivia", approval, approvals.refuse)
        assert ask(aurora, subject=approval.subject).pk != approval.pk

    def test_what_was_asked_never_changes(self, aurora):
        approval = ask(aurora)

        with pytest.raises(Error), aurora.scope(), transaction.atomic():
            Approval.objects.filter(pk=approval.pk).update(payload={"shape": "cpu-4"})


class TestInbox:
    def test_it_holds_what_a_person_may_decide_and_has_not(self, house_of_deciders):
        first, second = ask(house_of_deciders, needed=2), ask(house_of_deciders, "olivia")

        assert inbox(house_of_deciders, "olivia") == {first.pk}
        assert inbox(house_of_deciders, "lea") == {first.pk, second.pk}
        assert inbox(house_of_deciders, "alice") == set()
        decide(house_of_deciders, "olivia", first)
        assert inbox(house_of_deciders, "olivia") == set()
        assert inbox(house_of_deciders, "oscar") == {first.pk, second.pk}
        assert inbox(house_of_deciders, "oscar", now=NOW + approvals.LIFETIME) == set()

    def test_people_see_the_requests_of_their_projects_and_their_own(self, aurora):
        mine = ask(aurora)
        other = ask(aurora, "olivia", place=aurora.projects["language"])
        whole = ask(aurora, "olivia", place=aurora.organization, kind="quota")

        assert seen(aurora, "bob") == {mine.pk}
        assert seen(aurora, "olivia") == {mine.pk, other.pk, whole.pk}


def inbox(tenant, person, now=NOW):
    with tenant.scope():
        return {row.pk for row in approvals_waiting_for(tenant.actor(person), now=now)}


def seen(tenant, person):
    with scope.of_organization(tenant.organization.pk):
        return {row.pk for row in approvals_visible_to(tenant.actor(person))}
