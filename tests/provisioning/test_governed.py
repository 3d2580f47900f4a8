"""Policies at work: what they deny, what waits for approval and goes on, and what they stop."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from core.models import AuditEvent
from provisioning.errors import NotAdmitted, WrongState
from provisioning.models import Event
from provisioning.reconciler import sweeping
from provisioning.services import activity, awaiting, wishes
from provisioning.services.catalogue import ShapeOffer
from tenants.models import Approval, QuotaHold
from tenants.services import approvals, policies, projects
from tenants.services.policies import Draft
from tests.billing.shop import H100
from tests.house import an_act, join
from tests.provisioning import stage
from tests.provisioning.stage import Clock, Machine, fresh, launch, settle, turn, why

pytestmark = pytest.mark.django_db
ABOVE_ONE = Draft("big", "Large launches", "approval_above", {"accelerators": 1}, "enforce")


@pytest.fixture
def clock():
    stage.open_shop()
    return Clock()


@pytest.fixture
def machine(clock):
    return Machine(clock)


def set_rule(tenant, draft=ABOVE_ONE, **changes):
    with an_act(), tenant.scope():
        return policies.create(
            actor=tenant.actor("olivia"),
            organization=tenant.organization,
            draft=replace(draft, **changes),
            now=stage.NOON,
        )


def change_rule(tenant, policy, **words):
    with an_act(), tenant.scope():
        policies.change(actor=tenant.actor("olivia"), policy_id=policy.pk, now=stage.NOON, **words)


def approval_of(tenant, workload) -> Approval:
    with tenant.scope():
        return Approval.objects.filter(subject_id=workload.pk).latest("pk")


def decide(tenant, workload, act=approvals.approve, person="olivia", now=stage.NOON):
    with an_act(), tenant.scope():
        found = Approval.objects.filter(subject_id=workload.pk).latest("pk")
        act(actor=tenant.actor(person), approval_id=found.pk, now=now)


def wake(tenant, workload, machine, clock):
    """What the hint of a settled approval does."""
    awaiting.look_again(organization_id=tenant.organization.pk, workload_id=workload.pk, now=clock.now)
    return settle(tenant, workload, machine, clock, seconds=4)


class TestDenials:
    def test_a_launch_is_refused_with_every_rule_that_says_no(self, aurora, clock):
        set_rule(aurora, Draft("no-gpus", "No accelerators", "accelerators", {"models": []}, "enforce"))
        set_rule(aurora, Draft("owned", "Labels", "required_labels", {"labels": {"owner": []}}, "enforce"))

        with pytest.raises(NotAdmitted) as refused:
            launch(aurora)

        assert [(each.code, each.rule) for each in refused.value.reasons] == [
            ("accelerator_not_allowed", "no-gpus"),
            ("labels_missing", "owned"),
        ]

    def test_labels_that_a_rule_asks_for_let_it_through(self, aurora, clock):
        set_rule(aurora, Draft("owned", "Labels", "required_labels", {"labels": {"owner": []}}, "enforce"))

        assert launch(aurora, labels={"owner": "alice"}).spec["labels"] == {"owner": "alice"}

    def test_regions_follow_the_projects_class_of_data(self, aurora, clock):
        set_rule(aurora, Draft("eu", "At home", "regions", {"regions": {"internal": ["elsewhere"]}}, "enforce"))

        with pytest.raises(NotAdmitted) as refused:
            launch(aurora)

        assert refused.value.reasons[0].code == "region_not_allowed"

    def test_an_observed_rule_denies_nothing_and_leaves_a_line(self, aurora, clock):
        set_rule(aurora, Draft("no-gpus", "No accelerators", "accelerators", {"models": []}, "observe"))

        workload = launch(aurora)

        with aurora.scope():
            line = Event.objects.get(workload=workload, code="policy_observed")
        assert workload.state == "queued"
        assert line.details["rule"] == "no-gpus"


class TestApproval:
    def test_it_waits_holding_nothing_and_starts_when_it_is_approved(self, aurora, clock, machine):
        set_rule(aurora)

        workload = settle(aurora, launch(aurora, shape="h100-4"), machine, clock, seconds=3)

        assert (workload.state, why(workload), machine.starts) == ("requested", "awaiting_approval", 0)
        with aurora.scope():
            assert not QuotaHold.objects.exists()
        found = approval_of(aurora, workload)
        assert (found.rule, found.asked_by, found.payload["size"]) == ("big", workload.owner_id, "4 H100")
        assert found.payload["price_per_hour"] == {"amount": "11.801", "currency": "USD"}
        decide(aurora, workload)
        assert wake(aurora, workload, machine, clock).state == "running"

    def test_a_hint_that_is_lost_costs_a_minute(self, aurora, clock, machine):
        set_rule(aurora)
        workload = settle(aurora, launch(aurora, shape="h100-4"), machine, clock, seconds=2)
        decide(aurora, workload)

        turn(aurora, workload, machine, clock)
        assert fresh(aurora, workload).state == "requested"
        clock.pass_(seconds=61)
        sweeping.sweep_workloads(drivers=lambda _: machine, clock=clock)

        assert fresh(aurora, workload).state == "running"

    def test_all_checks_run_again_after_it(self, aurora, clock, machine):
        set_rule(aurora)
        workload = settle(aurora, launch(aurora, shape="h100-4"), machine, clock, seconds=2)
        set_rule(aurora, Draft("no-gpus", "No accelerators", "accelerators", {"models": []}, "enforce"))
        decide(aurora, workload)

        ended = wake(aurora, workload, machine, clock)

        assert (ended.state, why(ended), machine.starts) == ("stopped", "start_refused", 0)

    @pytest.mark.parametrize(
        ("settle_it", "state", "code"),
        [
            (lambda tenant, workload: decide(tenant, workload, approvals.refuse), "failed", "approval_refused"),
            (
                lambda tenant, workload: decide(tenant, workload, approvals.void, "alice"),
                "stopped",
                "approval_withdrawn",
            ),
            (lambda *_: approvals.expire_due(now=stage.NOON + timedelta(days=8)), "failed", "approval_expired"),
        ],
    )
    def test_without_it_the_launch_ends_with_the_reason(self, aurora, clock, machine, settle_it, state, code):
        set_rule(aurora)
        workload = settle(aurora, launch(aurora, shape="h100-4"), machine, clock, seconds=2)

        settle_it(aurora, workload)
        ended = wake(aurora, workload, machine, clock)

        assert (ended.state, why(ended), ended.desired_state, machine.starts) == (state, code, "stopped", 0)

    def test_one_that_was_refused_can_be_asked_for_again(self, aurora, clock, machine):
        set_rule(aurora)
        workload = settle(aurora, launch(aurora, shape="h100-4"), machine, clock, seconds=2)
        decide(aurora, workload, approvals.refuse)
        workload = wake(aurora, workload, machine, clock)

        stage.wish(aurora, "alice", wishes.start, workload, clock.now)
        waiting = settle(aurora, workload, machine, clock, seconds=2)

        assert (waiting.state, why(waiting), approval_of(aurora, waiting).state) == (
            "requested",
            "awaiting_approval",
            "open",
        )

    def test_an_approved_one_starts_again_without_asking(self, aurora, clock, machine):
        set_rule(aurora)
        workload = settle(aurora, launch(aurora, shape="h100-4"), machine, clock, seconds=2)
        decide(aurora, workload)
        workload = wake(aurora, workload, machine, clock)
        stage.wish(aurora, "alice", wishes.stop, workload, clock.now)
        settle(aurora, workload, machine, clock, seconds=3)

        stage.wish(aurora, "alice", wishes.start, workload, clock.now)

        assert settle(aurora, workload, machine, clock, seconds=4).state == "running"

    @pytest.mark.parametrize(("act", "state"), [(wishes.stop, "stopped"), (wishes.delete, "deleted")])
    def test_stopping_it_takes_the_request_back(self, aurora, clock, machine, act, state):
        set_rule(aurora)
        workload = settle(aurora, launch(aurora, shape="h100-4"), machine, clock, seconds=2)

        stage.wish(aurora, "alice", act, workload, clock.now)

        assert settle(aurora, workload, machine, clock, seconds=3).state == state
        assert approval_of(aurora, workload).state == "voided"

    def test_what_no_rule_asks_for_any_more_goes_on_by_itself(self, aurora, clock, machine):
        policy = set_rule(aurora)
        workload = settle(aurora, launch(aurora, shape="h100-4"), machine, clock, seconds=2)
        change_rule(aurora, policy, mode="off")

        clock.pass_(seconds=61)

        assert settle(aurora, workload, machine, clock, seconds=4).state == "running"
        assert approval_of(aurora, workload).state == "voided"

    def test_four_eyes_need_two(self, aurora, clock, machine):
        set_rule(aurora, terms={"accelerators": 1, "four_eyes": True})
        workload = settle(aurora, launch(aurora, shape="h100-4"), machine, clock, seconds=2)

        decide(aurora, workload)

        assert approval_of(aurora, workload).state == "open"
        assert wake(aurora, workload, machine, clock).state == "requested"

    def test_a_launch_that_fails_otherwise_too_is_refused_with_all_reasons(self, aurora, clock):
        set_rule(aurora)
        stage.offer_shape(ShapeOffer("h100-16", "16 H100", "H100", 16, 8, 8, H100, 16))

        with pytest.raises(NotAdmitted) as refused:
            launch(aurora, shape="h100-16")

        assert {"over_quota", "approval_needed"} <= {each.code for each in refused.value.reasons}
        with aurora.scope():
            assert not Approval.objects.exists()

    def test_each_act_is_one_event(self, aurora, clock, machine):
        set_rule(aurora)
        workload = settle(aurora, launch(aurora, shape="h100-4"), machine, clock, seconds=2)
        decide(aurora, workload)
        wake(aurora, workload, machine, clock)

        with aurora.scope():
            verbs = list(AuditEvent.objects.order_by("pk").values_list("verb", flat=True))
        first = verbs.index("policy.created")
        assert verbs[first : first + 4] == [
            "policy.created",
            "workload.launched",
            "approval.approved",
            "workload.start_requested",
        ]


class TestLimits:
    def test_the_stricter_lifetime_stops_it_names_the_rule_and_cannot_be_kept_off(self, aurora, clock, machine):
        set_rule(aurora, Draft("short", "Short runs", "max_lifetime", {"seconds": 3600}, "enforce"))
        workload = settle(aurora, launch(aurora), machine, clock)
        assert workload.lifetime_rule == "Short runs (set by the organisation)"

        stage.wish(aurora, "alice", wishes.extend, workload, clock.now)
        kept = fresh(aurora, workload)
        assert kept.bound_at is not None
        assert kept.stop_extended_until == kept.bound_at + timedelta(hours=1)
        clock.now = kept.bound_at + timedelta(minutes=59)
        with pytest.raises(WrongState):
            stage.wish(aurora, "alice", wishes.extend, workload, clock.now)
        clock.now = kept.bound_at + timedelta(hours=1, seconds=1)
        activity.take_in(organization_id=aurora.organization.pk, workload_id=workload.pk, signals=None, now=clock.now)

        ended = settle(aurora, workload, machine, clock, seconds=3)
        assert (ended.state, why(ended)) == ("stopped", "lifetime")
        assert ended.reason is not None
        assert "Short runs (set by the organisation)" in ended.reason["message"]

    def test_a_rule_that_is_laxer_than_the_installation_changes_nothing(self, aurora, clock):
        set_rule(aurora, Draft("long", "Long runs", "max_lifetime", {"seconds": 86_400 * 9}, "enforce"))

        assert (launch(aurora).max_lifetime, launch(aurora).lifetime_rule) == (None, "")

    def test_a_start_reads_the_rules_anew(self, aurora, clock, machine):
        workload = settle(aurora, launch(aurora), machine, clock)
        stage.wish(aurora, "alice", wishes.stop, workload, clock.now)
        settle(aurora, workload, machine, clock, seconds=3)
        set_rule(aurora, Draft("idle", "Idle ones", "idle_stop", {"seconds": 600}, "enforce"))

        stage.wish(aurora, "alice", wishes.start, workload, clock.now)

        assert fresh(aurora, workload).idle_after == timedelta(minutes=10)


class TestMoves:
    """What waits, or rests, is judged by the rules as they are and by what its project is when it starts."""

    IN_THE_EU = Draft("eu", "At home", "regions", {"regions": {"confidential": ["elsewhere"]}}, "enforce")

    def now_confidential(self, tenant):
        set_rule(tenant, self.IN_THE_EU)
        with an_act(), tenant.scope():
            projects.change(
                actor=tenant.actor("olivia"),
                project_id=tenant.projects["vision"].pk,
                changes={"data_class": "confidential"},
                now=stage.NOON,
            )

    def queued(self, tenant, machine, clock):
        """One that waits behind one that fills the cluster."""
        first = settle(tenant, launch(tenant, shape="h100-8"), machine, clock, seconds=3)
        second = settle(tenant, launch(tenant), machine, clock, seconds=2)
        assert why(second) == "waiting_for_capacity"
        return first, second

    def test_what_is_stopped_is_refused_at_its_next_start(self, aurora, clock, machine):
        workload = settle(aurora, launch(aurora), machine, clock, seconds=3)
        stage.wish(aurora, "alice", wishes.stop, workload, clock.now)
        settle(aurora, workload, machine, clock, seconds=3)
        self.now_confidential(aurora)

        with pytest.raises(NotAdmitted) as refused:
            stage.wish(aurora, "alice", wishes.start, workload, clock.now)

        assert refused.value.reasons[0].code == "region_not_allowed"

    def test_what_queues_is_judged_again_when_its_turn_comes(self, aurora, clock, machine):
        first, second = self.queued(aurora, machine, clock)
        self.now_confidential(aurora)
        stage.wish(aurora, "alice", wishes.stop, first, clock.now)
        settle(aurora, first, machine, clock, seconds=2)

        ended = settle(aurora, second, machine, clock, seconds=4)

        assert (ended.state, why(ended), machine.starts) == ("stopped", "start_refused", 1)
        assert "stays in elsewhere" in str(ended.reason)
        with aurora.scope():
            assert not QuotaHold.objects.exclude(resource="storage_gib").exists()

    def test_what_queues_asks_for_approval_where_a_new_rule_wants_it(self, aurora, clock, machine):
        first, second = self.queued(aurora, machine, clock)
        set_rule(aurora, terms={"accelerators": 0})
        stage.wish(aurora, "alice", wishes.stop, first, clock.now)
        settle(aurora, first, machine, clock, seconds=2)

        waiting = settle(aurora, second, machine, clock, seconds=4)

        assert (waiting.state, why(waiting), machine.starts) == ("requested", "awaiting_approval", 1)

    def test_what_waits_does_not_start_for_one_who_lost_the_right_to(self, aurora, clock, machine):
        set_rule(aurora)
        workload = settle(aurora, launch(aurora, shape="h100-4"), machine, clock, seconds=2)
        join(aurora, "alice", "viewer", projects=("vision",))
        decide(aurora, workload)

        ended = wake(aurora, workload, machine, clock)

        assert (ended.state, why(ended), machine.starts) == ("stopped", "start_refused", 0)
        assert ended.reason["message"].startswith("Its owner may not launch workloads any more in vision.")
