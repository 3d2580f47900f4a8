"""A project that leaves a team with a small quota holds more: one person alone does no more of it than a rule says."""

from __future__ import annotations

import pytest
from django.db import transaction
from django.utils import timezone

from core.errors import Conflict, Refused
from tenants.enums import ApprovalState
from tenants.models import Approval, Project, Quota
from tenants.quota_rules import most_of, reaches
from tenants.services import approvals, policies, projects, quotas
from tenants.services.policies import Draft
from tests import house, places
from tests.api.ask import send
from tests.house import an_act

pytestmark = pytest.mark.django_db
RULE = {"change": "quota", "above": "2"}
GPUS, H100 = "accelerators", "accelerators/H100"


@pytest.mark.parametrize(
    ("bounds", "resource", "most"),
    [
        ((), GPUS, None),
        (((GPUS, 16),), GPUS, 16),
        (((GPUS, 16), (GPUS, 4)), GPUS, 4),
        (((GPUS, 16), (GPUS, 0)), GPUS, 0),
        (((GPUS, 16), (H100, 4)), H100, 4),
        (((GPUS, 4), (H100, 16)), H100, 4),
        (((GPUS, 4),), H100, 4),
        (((H100, 4),), GPUS, None),
        ((("vcpus", 4),), H100, None),
    ],
)
def test_the_strictest_bound_counts_and_accelerators_bound_their_models(bounds, resource, most):
    assert most_of(resource, reaches(bounds)) == most


def rule(tenant, **terms):
    draft = Draft("careful", "Careful raises", "change_approval", {**RULE, **terms}, "enforce")
    with an_act(), tenant.scope():
        policies.create(actor=tenant.actor("olivia"), organization=tenant.organization, draft=draft, now=timezone.now())


def team(tenant, slug, **limits):
    """A team with quotas of its own."""
    made = places.team(tenant, slug)
    for name, limit in limits.items():
        limit_on(tenant, made, GPUS if name == "gpus" else H100 if name == "h100" else name, limit)
    return made


def limit_on(tenant, place, resource, limit):
    with an_act(), tenant.scope():
        actor = house.SYSTEM if place == tenant.organization else tenant.actor("olivia")
        quotas.define_one(actor=actor, place=place, resource=resource, terms=quotas.Terms(limit), now=timezone.now())


def move(tenant, to, **more):
    with an_act(), tenant.scope():
        return projects.change(
            actor=tenant.actor("olivia"),
            project_id=tenant.projects["vision"].pk,
            changes={"team_id": to.pk if to else None, **more},
            now=timezone.now(),
        )


def put(tenant, into):
    Project._base_manager.filter(pk=tenant.projects["vision"].pk).update(team=into)


def asked(tenant) -> Approval | None:
    with tenant.scope():
        return Approval.objects.select_related("organization").filter(kind="move", state=ApprovalState.OPEN).first()


def decide(tenant, word=approvals.approve, by="ada"):
    found = asked(tenant)
    assert found is not None
    if by not in tenant.people:
        house.join(tenant, by, "admin")
    with an_act(), tenant.scope():
        return word(actor=tenant.actor(by), approval_id=found.pk, now=timezone.now())


SMALL, LARGE, NONE, OPEN = "small", "large", "none", "open"
"""Teams with 4 and 12 accelerators, no team, and a team without quotas. The project's own limit is 16."""


TABLE: tuple[tuple[dict[str, str] | None, int, str, str, bool], ...] = (
    ({}, 16, SMALL, NONE, True),
    ({}, 16, SMALL, LARGE, True),
    ({}, 16, SMALL, OPEN, True),
    ({}, 16, LARGE, SMALL, False),
    ({}, 16, NONE, SMALL, False),
    ({}, 16, NONE, OPEN, False),
    ({}, 4, SMALL, NONE, False),
    ({}, 6, SMALL, NONE, False),
    ({}, 7, SMALL, NONE, True),
    ({"above": "12"}, 16, SMALL, NONE, False),
    ({"above": "11"}, 16, SMALL, NONE, True),
    ({"resource": "vcpus"}, 16, SMALL, NONE, False),
    ({"change": "price", "currency": "USD"}, 16, SMALL, NONE, False),
    (None, 16, SMALL, NONE, False),
)
"""The rule, the project's own limit, from where, to where, and whether it waits."""


class TestWhatWaits:
    def test_is_a_move_that_adds_more_than_a_rule_allows(self, aurora):
        known = {SMALL: team(aurora, "small", gpus=4), LARGE: team(aurora, "large", gpus=12), NONE: None}
        known[OPEN] = places.team(aurora, "open")
        found = []
        for terms, own, start, to, _ in TABLE:
            with transaction.atomic():
                if terms is not None:
                    rule(aurora, **terms)
                put(aurora, known[start])
                Quota._base_manager.filter(project=aurora.projects["vision"], resource=GPUS).update(limit=own)
                moved = move(aurora, known[to], cost_centre="CC-9")
                waits = asked(aurora) is not None
                assert (moved.team == known[start], moved.cost_centre) == (waits, "CC-9")
                found.append((terms, own, start, to, waits))
                transaction.set_rollback(True)

        assert tuple(found) == TABLE

    def test_is_said_with_the_numbers_and_the_rule(self, aurora):
        rule(aurora)
        put(aurora, team(aurora, "small", gpus=4, h100=2))
        move(aurora, None)

        found = asked(aurora)
        assert found is not None
        told = {
            reason["resource"]: (reason["limit"], reason["asked"], reason["rule"])
            for reason in found.payload["reasons"]
        }
        assert told == {GPUS: (4, 16, "careful"), H100: (2, 10, "careful")}
        assert (found.rule, found.payload["from"], found.payload["to"]) == ("careful", "small", "no team")

    def test_small_moves_and_raises_are_counted_together(self, aurora):
        """Four to six alone, then to eight: that would be four."""
        rule(aurora)
        first, second = team(aurora, "second", gpus=6), team(aurora, "third", gpus=8)
        put(aurora, team(aurora, "small", gpus=4))

        assert move(aurora, first).team == first
        assert move(aurora, second).team == first
        with aurora.scope():
            own = Quota.objects.get(project=aurora.projects["vision"], resource=GPUS)
        with an_act(), aurora.scope(), pytest.raises(Refused):
            quotas.set_limit(actor=aurora.actor("olivia"), quota_id=own.pk, limit=own.limit + 1, now=timezone.now())

    def test_without_a_quota_of_its_own_nothing_counts_them_so_each_waits(self, aurora):
        rule(aurora)
        limit_on(aurora, aurora.organization, "tokens_per_minute", 100)
        small, larger = team(aurora, "small", tokens_per_minute=4), team(aurora, "larger", tokens_per_minute=5)
        put(aurora, small)

        assert move(aurora, larger).team == small

    def test_nobody_asks_twice(self, aurora):
        rule(aurora)
        put(aurora, team(aurora, "small", gpus=4))
        move(aurora, None)

        with pytest.raises(Conflict):
            move(aurora, None)


class TestWhatFollows:
    @pytest.fixture
    def small(self, aurora):
        rule(aurora)
        found = team(aurora, "small", gpus=4)
        put(aurora, found)
        move(aurora, None)
        return found

    def where(self, tenant):
        with tenant.scope():
            return Project.objects.select_related("team").get(pk=tenant.projects["vision"].pk).team

    def test_somebody_elses_word_moves_it(self, aurora, small):
        with pytest.raises(Refused):
            decide(aurora, by="olivia")
        decide(aurora)

        assert self.where(aurora) is None

    def test_a_refusal_leaves_it_where_it_is(self, aurora, small):
        decide(aurora, approvals.refuse)

        assert self.where(aurora) == small

    def test_it_is_not_made_where_more_would_follow_than_was_approved(self, aurora, small):
        Quota._base_manager.filter(project=aurora.projects["vision"], resource=GPUS).update(limit=64)

        with pytest.raises(Conflict, match="asked anew"):
            decide(aurora)
        assert self.where(aurora) == small

    def test_another_move_or_the_end_of_the_project_takes_it_back(self, aurora, small):
        move(aurora, team(aurora, "smaller", gpus=1))

        assert asked(aurora) is None

    def test_two_people_where_the_rule_says_so(self, aurora):
        rule(aurora, four_eyes=True)
        put(aurora, team(aurora, "small", gpus=4))
        move(aurora, None)

        assert decide(aurora).state == ApprovalState.OPEN
        assert decide(aurora, by="amos").state == ApprovalState.APPROVED
        assert self.where(aurora) is None


class TestFromOutside:
    def test_the_api_answers_202_with_why_and_where(self, aurora):
        rule(aurora)
        put(aurora, team(aurora, "small", gpus=4))
        address = f"/api/v1/projects/{aurora.projects['vision'].pk}"

        answer = send(house.api_for(aurora, "olivia"), "patch", address, {"team": None, "name": "Vision 2"})

        body = answer.json()
        assert (answer.status_code, answer.headers["Location"]) == (202, f"/api/v1/approvals/{body['approval']}")
        assert (body["name"], body["team"]["label"]) == ("Vision 2", "small")
        assert {reason["code"] for reason in body["waits"]} == {"approval_needed"}

    def test_the_page_says_that_it_waits_and_the_inbox_shows_it(self, aurora):
        rule(aurora)
        put(aurora, team(aurora, "small", gpus=4))
        house.join(aurora, "ada", "admin")
        olivia, page = house.client_for(aurora, "olivia"), f"/organization/projects/{aurora.projects['vision'].pk}"
        form = {"name": "Vision", "environment": "dev", "data_class": "internal", "team": ""}

        said = olivia.post(f"{page}/change", form, follow=True).content.decode()
        inbox = house.client_for(aurora, "ada").get("/approvals").content.decode()

        assert "The move waits for somebody else&#x27;s approval." in said
        assert "Vision could hold 16 accelerators instead of 4." in said
        assert "Move Vision to another team" in inbox
        assert "4 → 16" in inbox
