"""Policies as rows: who sets them, what is kept of them, and which are in force."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import Error, transaction
from django.utils import timezone

from core import scope
from core.errors import Conflict, Forbidden, Invalid, NotFound, Refused, Stale
from core.models import AuditEvent
from core.types import Actor
from tenants.models import PlatformPolicy, Policy, Quota
from tenants.selectors.policies import policies_visible_to, rules_in_force, versions_of
from tenants.services import approvals, policies, quota_requests, quotas
from tenants.services.policies import Draft
from tests import house
from tests.house import an_act

pytestmark = pytest.mark.django_db
DRAFT = Draft("no-gpus", "No accelerators", "accelerators", {"models": []}, "enforce")


def create(tenant, person="olivia", draft=DRAFT, **changes) -> Policy:
    with an_act(), tenant.scope():
        return policies.create(
            actor=tenant.actor(person),
            organization=tenant.organization,
            draft=replace(draft, **changes),
            now=timezone.now(),
        )


def change(tenant, policy, person="olivia", **words):
    with an_act(), tenant.scope():
        return policies.change(actor=tenant.actor(person), policy_id=policy.pk, now=timezone.now(), **words)


def platform_actor(tenant) -> Actor:
    person = house.join(tenant, "petra", "owner")
    person.platform_role = "platform_admin"
    return house.actor_for(person, tenant.organization)


def create_platform(tenant, **changes) -> PlatformPolicy:
    actor = platform_actor(tenant)
    with an_act(), scope.of_platform():
        return policies.create_for_platform(
            actor=actor, draft=replace(DRAFT, slug="at-home", **changes), now=timezone.now()
        )


def in_force(tenant) -> list[str]:
    with tenant.scope():
        return sorted(rule.name.slug for rule in rules_in_force())


class TestPolicies:
    def test_the_owner_sets_one_and_it_is_in_force_there_alone(self, aurora, borealis):
        create(aurora)

        assert (in_force(aurora), in_force(borealis)) == (["no-gpus"], [])

    def test_the_platforms_hold_everywhere_and_nobody_else_changes_them(self, aurora, borealis):
        policy = create_platform(aurora)

        assert (in_force(aurora), in_force(borealis)) == (["platform/at-home"], ["platform/at-home"])
        with pytest.raises((Forbidden, NotFound)):
            change(borealis, policy, "boris", mode="off")
        with pytest.raises(Error), borealis.scope(), transaction.atomic():
            PlatformPolicy.objects.filter(pk=policy.pk).update(mode="off")

    @pytest.mark.parametrize("who", ["olivia", "paula"])
    def test_the_platforms_are_seen_by_the_api_and_not_changed_there(self, aurora, who):
        policy = create_platform(aurora)
        house.platform_person(aurora, "paula", "platform_admin", role="admin")
        api, path = house.api_for(aurora, who), f"/api/v1/policies/{policy.pk}"

        assert api.get(path).status_code == 200
        changed = api.patch(path, {"mode": "off"}, content_type="application/json")
        assert (changed.status_code, changed.json()["code"]) == (403, "permission_denied")
        assert api.delete(path).status_code == 403
        assert in_force(aurora) == ["platform/at-home"]

    def test_one_that_is_off_or_retired_says_nothing(self, aurora):
        policy = create(aurora)

        change(aurora, policy, mode="off")
        assert in_force(aurora) == []
        change(aurora, policy, mode="observe")
        assert in_force(aurora) == ["no-gpus"]
        with an_act(), aurora.scope():
            policies.retire(actor=aurora.actor("olivia"), policy_id=policy.pk, now=timezone.now())
        assert in_force(aurora) == []
        assert create(aurora).pk != policy.pk

    def test_each_change_makes_a_version_and_the_old_ones_are_kept(self, aurora):
        policy = create(aurora)

        change(aurora, policy, terms={"models": ["H100"]}, expected_version=1)
        with pytest.raises(Stale):
            change(aurora, policy, terms={"models": ["A100"]}, expected_version=1)

        with aurora.scope():
            assert [(each.number, each.terms) for each in versions_of(policy)] == [
                (2, {"models": ["H100"]}),
                (1, {"models": []}),
            ]
            event = AuditEvent.objects.get(verb="policy.changed")
        assert event.before is not None
        assert event.after is not None
        assert (event.before["terms"], event.after["terms"]) == ({"models": []}, {"models": ["H100"]})

    def test_a_developer_sees_them_and_sets_none(self, aurora):
        create(aurora)

        with aurora.scope():
            assert [each.slug for each in policies_visible_to(aurora.actor("alice"))] == ["no-gpus"]
            assert policies_visible_to(aurora.actor("billie")) == []
        with pytest.raises(Forbidden):
            create(aurora, "alice", slug="more")

    def test_a_stranger_finds_nothing(self, aurora, borealis):
        policy = create(aurora)

        with pytest.raises(NotFound):
            change(borealis, policy, "boris", mode="off")

    @pytest.mark.parametrize(
        "changes",
        [{"slug": "No Good"}, {"title": " "}, {"kind": "weather"}, {"mode": "maybe"}, {"terms": {"models": "all"}}],
    )
    def test_what_cannot_be_meant_is_refused(self, aurora, changes):
        with pytest.raises(Invalid):
            create(aurora, **changes)

    def test_a_name_is_used_once(self, aurora):
        create(aurora)

        with pytest.raises(Conflict):
            create(aurora)


class TestChangesOfQuota:
    """A rule on changes: nobody makes a large one alone, and two people agree where it says four eyes."""

    RULE = Draft("careful", "Careful raises", "change_approval", {"change": "quota", "above": "2"}, "enforce")

    def quota(self, tenant) -> Quota:
        with tenant.scope():
            return Quota.objects.get(project=tenant.projects["vision"], resource="accelerators")

    def set_limit(self, tenant, more: int):
        quota = self.quota(tenant)
        with an_act(), tenant.scope():
            quotas.set_limit(
                actor=tenant.actor("olivia"), quota_id=quota.pk, limit=quota.limit + more, now=timezone.now()
            )

    def test_a_small_one_is_made_alone_and_a_large_one_is_refused_naming_the_rule(self, aurora):
        create(aurora, draft=self.RULE)

        self.set_limit(aurora, 2)
        self.set_limit(aurora, -6)
        with pytest.raises(Refused) as refused:
            self.set_limit(aurora, 3)

        assert (refused.value.reasons[0].code, refused.value.reasons[0].rule) == ("approval_needed", "careful")

    def test_steps_are_counted_together_until_somebody_else_agrees(self, aurora):
        create(aurora, draft=self.RULE)
        self.set_limit(aurora, 1)
        self.set_limit(aurora, 1)
        with pytest.raises(Refused):
            self.set_limit(aurora, 1)

        quota = self.quota(aurora)
        with an_act(), aurora.scope():
            approval = quota_requests.ask(
                actor=aurora.actor("alice"),
                quota_id=quota.pk,
                limit=quota.limit + 1,
                justification="The benchmark for Friday.",
                until=None,
                now=timezone.now(),
            )
        with an_act(), aurora.scope():
            approvals.approve(actor=aurora.actor("olivia"), approval_id=approval.pk, now=timezone.now())
        self.set_limit(aurora, 2)

        assert self.quota(aurora).limit == quota.limit + 3

    def test_going_down_and_up_again_gains_nothing(self, aurora):
        create(aurora, draft=self.RULE)
        self.set_limit(aurora, -4)

        self.set_limit(aurora, 2)
        with pytest.raises(Refused):
            self.set_limit(aurora, 1)

    def test_what_it_may_borrow_counts_like_its_own(self, aurora):
        create(aurora, draft=self.RULE)
        quota = self.quota(aurora)

        with an_act(), aurora.scope(), pytest.raises(Refused) as refused:
            quotas.set_limit(
                actor=aurora.actor("olivia"),
                quota_id=quota.pk,
                limit=quota.limit,
                borrow_limit=500,
                now=timezone.now(),
            )

        assert "500" in refused.value.reasons[0].message

    def test_what_was_raised_before_there_was_a_rule_is_as_it_stands(self, aurora):
        self.set_limit(aurora, 50)
        create(aurora, draft=self.RULE)

        self.set_limit(aurora, 2)

        assert self.quota(aurora).agreed == self.quota(aurora).limit - 2

    def test_a_request_for_it_needs_the_eyes_that_the_rule_says(self, aurora):
        create(aurora, draft=replace(self.RULE, terms={**self.RULE.terms, "four_eyes": True}))
        quota = self.quota(aurora)

        with an_act(), aurora.scope():
            approval = quota_requests.ask(
                actor=aurora.actor("alice"),
                quota_id=quota.pk,
                limit=quota.limit + 8,
                justification="The benchmark for Friday.",
                until=None,
                now=timezone.now(),
            )

        assert (approval.needed, approval.rule) == (2, "careful")
