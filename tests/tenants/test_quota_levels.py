"""Quotas on every level, as the database keeps them."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core import audit
from core.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from tenants.enums import PlatformRole
from tenants.models import Project, Quota, QuotaHold, User
from tenants.selectors import held_of, quota_book, quotas_visible_to
from tenants.services import quotas
from tenants.services.quotas import Terms
from tenants.types import Claim, Holder
from tests import house
from tests.house import an_act
from tests.tenants.quota_stage import (
    GPU,
    check_that_used_is_what_is_held,
    give_back,
    holder,
    quota,
    take,
    team,
)

pytestmark = pytest.mark.django_db


def codes(reasons):
    return [(reason.code, reason.level) for reason in reasons]


def define(tenant, name, place, limit, resource=GPU, **more):
    with an_act(), tenant.scope():
        return quotas.define_one(
            actor=tenant.actor(name), place=place, resource=resource, terms=Terms(limit, **more), now=timezone.now()
        )


class TestLevels:
    def test_a_claim_counts_on_every_level_and_is_given_back_on_every_level(self, aurora):
        alice = aurora.people["alice"]
        rows = [
            quota(aurora, aurora.organization, 8),
            quota(aurora, team(aurora, "perception", "vision"), 8),
            quota(aurora, alice, 8),
        ]

        mine = take(aurora, "vision", 3, owner_id=alice.pk)
        with aurora.scope():
            used = [Quota.objects.get(pk=row.pk).used for row in rows]
        give_back(aurora, "vision", mine)

        assert used == [3, 3, 3]
        with aurora.scope():
            assert set(Quota.objects.values_list("used", flat=True)) == {0}
            assert not QuotaHold.objects.exists()

    def test_each_level_refuses_for_itself(self, aurora):
        alice, bob = aurora.people["alice"].pk, aurora.people["bob"].pk
        perception = team(aurora, "perception", "vision")
        quota(aurora, perception, 6)
        quota(aurora, aurora.people["alice"], 4)
        quota(aurora, aurora.organization, 7)

        assert codes(take(aurora, "vision", 5, owner_id=alice)) == [("over_quota", "user")]
        assert codes(take(aurora, "vision", 7, owner_id=bob)) == [("over_quota", "team")]
        take(aurora, "language", 3, owner_id=bob)
        assert codes(take(aurora, "vision", 5, owner_id=bob)) == [("over_quota", "organization")]
        check_that_used_is_what_is_held(aurora)

    def test_a_quota_that_is_set_later_knows_what_is_held(self, aurora):
        alice = aurora.people["alice"].pk
        with aurora.scope():
            quotas.take(
                project=aurora.projects["vision"],
                claim=Claim((("accelerators/L40S", 5),)),
                holder=holder(alice),
                now=timezone.now(),
            )

        made = define(aurora, "olivia", aurora.projects["vision"], 4, "accelerators/L40S")

        assert (made.used, made.limit) == (5, 4)
        assert quota(aurora, aurora.people["alice"], 9, "accelerators/L40S").used == 5

    def test_what_is_taken_is_reserved_until_it_runs(self, aurora):
        first, second = holder(), holder()
        take(aurora, "vision", 2, by=first)
        take(aurora, "vision", 3, by=second)
        with aurora.scope():
            quotas.put_to_use(holder=first, now=timezone.now())

        with aurora.scope():
            row = Quota.objects.get(project=aurora.projects["vision"], resource=GPU)
            held = held_of([row])[row.pk]
        assert (row.used, held.reserved) == (5, 3)
        assert [(each.id, each.amount) for each in held.holds] == [(second.id, 3), (first.id, 2)]

    def test_above_a_project_it_is_projects_that_hold(self, aurora):
        row = quota(aurora, aurora.organization, 20)
        take(aurora, "vision", 2)
        take(aurora, "vision", 1)
        take(aurora, "language", 4)

        with aurora.scope():
            held = held_of([Quota.objects.get(pk=row.pk)])[row.pk]

        assert [(each.kind, each.label, each.amount) for each in held.holds] == [
            ("project", "language", 4),
            ("project", "vision", 3),
        ]

    def test_a_project_that_changes_its_team_takes_what_it_holds_along(self, aurora):
        perception = team(aurora, "perception", "vision")
        row = quota(aurora, perception, 8)
        take(aurora, "vision", 3)
        other = quota(aurora, team(aurora, "speech"), 8)

        with an_act(), aurora.scope():
            audit.record(house.SYSTEM, "project.changed", aurora.projects["vision"].ref, now=timezone.now())
            Project.objects.filter(slug="vision").update(team=other.team)
            quotas.follow_move(aurora.organization.pk)

        with aurora.scope():
            assert Quota.objects.get(pk=row.pk).used == 0
            assert Quota.objects.get(pk=other.pk).used == 3


class TestBorrowing:
    def test_a_project_borrows_what_another_leaves_and_the_lender_waits(self, aurora):
        quota(aurora, aurora.projects["vision"], 8, borrow_limit=4)
        quota(aurora, aurora.projects["language"], 8, lend_limit=6)

        assert not isinstance(take(aurora, "vision", 12), tuple)
        refused = take(aurora, "language", 6)

        assert codes(refused) == [("lent_out", "project")]
        assert "4 are lent to vision (4)" in refused[0].message
        assert not isinstance(take(aurora, "language", 4), tuple)
        check_that_used_is_what_is_held(aurora)

    def test_projects_of_a_team_borrow_from_one_another_within_the_team(self, aurora):
        perception = team(aurora, "perception", "vision", "language")
        quota(aurora, perception, 10)
        quota(aurora, aurora.projects["vision"], 4, borrow_limit=6)
        quota(aurora, aurora.projects["language"], 6)

        assert not isinstance(take(aurora, "vision", 8), tuple)
        assert codes(take(aurora, "language", 3)) == [("lent_out", "project")]
        assert not isinstance(take(aurora, "language", 2), tuple)
        assert codes(take(aurora, "vision", 1)) == [("over_quota", "team")]

    def test_a_team_borrows_for_its_projects(self, aurora):
        perception, speech = team(aurora, "perception", "vision"), team(aurora, "speech", "language")
        quota(aurora, aurora.organization, 12)
        quota(aurora, perception, 6, borrow_limit=4)
        quota(aurora, speech, 6, lend_limit=3)
        quota(aurora, aurora.projects["vision"], 12)

        assert codes(take(aurora, "vision", 10)) == [("nothing_to_borrow", "team")]
        assert not isinstance(take(aurora, "vision", 9), tuple)
        assert not isinstance(take(aurora, "language", 3), tuple)
        assert codes(take(aurora, "language", 1)) == [("lent_out", "team")]

    @pytest.mark.parametrize("seed", range(4))
    def test_used_is_what_is_held_and_below_every_limit_after_every_step(self, aurora, seed):
        dice = Random(seed)
        held: list[tuple[str, Holder]] = []
        perception = team(aurora, "perception", "vision")
        quota(aurora, aurora.organization, dice.randint(6, 20))
        quota(aurora, perception, dice.randint(2, 12), borrow_limit=dice.randint(0, 6))
        for project in ("vision", "language"):
            quota(
                aurora,
                aurora.projects[project],
                dice.randint(1, 10),
                borrow_limit=dice.randint(0, 8),
                lend_limit=dice.choice([None, 0, 2, 5]),
            )
        quota(aurora, aurora.people["alice"], dice.randint(3, 12))
        for _ in range(40):
            if held and dice.random() < 0.4:
                project, mine = held.pop(dice.randrange(len(held)))
                give_back(aurora, project, mine)
            else:
                project = dice.choice(["vision", "language"])
                owner = aurora.people[dice.choice(["alice", "bob"])].pk
                found = take(aurora, project, dice.randint(1, 6), owner_id=owner)
                if not isinstance(found, tuple):
                    held.append((project, found))
            check_that_used_is_what_is_held(aurora)
            with aurora.scope():
                for row in Quota.objects.filter(resource=GPU):
                    assert row.used <= row.limit + row.borrow_limit


class TestTemporaryRaise:
    def test_counts_until_its_instant_and_not_from_it_on(self, aurora):
        row, now = quota(aurora, aurora.projects["vision"], 16), timezone.now()
        end = now + timedelta(hours=1)
        with an_act(), aurora.scope():
            audit.record(house.SYSTEM, "quota.raised", row.ref, now=now)
            Quota.objects.filter(pk=row.pk).update(raised_until=end, falls_to=8)

            before = quota_book(aurora.projects["vision"], None, now=now).shortfalls({GPU: 9})
            after = quota_book(aurora.projects["vision"], None, now=end).shortfalls({GPU: 9})

        assert before == ()
        assert [(reason.limit, reason.asked) for reason in after] == [(8, 9)]


class TestStatements:
    @pytest.mark.parametrize("resources", [1, 6])
    def test_taking_and_giving_back_cost_the_same_however_many_resources(self, aurora, resources):
        names = sorted(house.LIMITS)[:resources]
        claim, mine, project = Claim(tuple((name, 1) for name in names)), holder(), aurora.projects["vision"]
        with aurora.scope():
            with CaptureQueriesContext(connection) as taken:
                quotas.take(project=project, claim=claim, holder=mine, now=timezone.now())
            with CaptureQueriesContext(connection) as given:
                quotas.give_back(project_id=project.pk, holder=mine)

        assert statements(taken) == 5
        assert statements(given) == 3


def statements(captured):
    return sum("SAVEPOINT" not in each["sql"] for each in captured.captured_queries)


class TestWhoSets:
    def test_nobody_inside_sets_the_organisations_own_quota(self, aurora):
        row = quota(aurora, aurora.organization, 8)
        for name in ("olivia", "alice"):
            with an_act(), aurora.scope(), pytest.raises(Forbidden) as refused:
                quotas.set_limit(actor=aurora.actor(name), quota_id=row.pk, limit=99, now=timezone.now())
            assert "the platform's administrator" in refused.value.message
        with pytest.raises(Forbidden):
            define(aurora, "olivia", aurora.organization, 99, "vcpus")

    def test_the_platform_sets_it(self, aurora):
        row = quota(aurora, aurora.organization, 8)
        petra = house.join(aurora, "petra", "admin")
        petra.platform_role = PlatformRole.ADMIN
        with an_act(), aurora.scope():
            changed = quotas.set_limit(actor=aurora.actor("petra"), quota_id=row.pk, limit=9, now=timezone.now())
        assert changed.limit == 9

    def test_an_owner_sets_all_below_it(self, aurora):
        perception = team(aurora, "perception", "vision")

        assert define(aurora, "olivia", perception, 4).limit == 4
        assert define(aurora, "olivia", aurora.people["alice"], 2).limit == 2
        assert define(aurora, "olivia", aurora.projects["vision"], 3, "accelerators/L40S", borrow_limit=1).limit == 3

    def test_a_developer_sets_none(self, aurora):
        with pytest.raises(Forbidden):
            define(aurora, "alice", aurora.projects["vision"], 3, "accelerators/L40S")
        with pytest.raises(Forbidden):
            define(aurora, "alice", aurora.people["alice"], 3)

    def test_a_strangers_place_does_not_exist(self, aurora, borealis):
        with pytest.raises(NotFound):
            define(aurora, "olivia", borealis.projects["drugs"], 3)
        with pytest.raises(NotFound):
            define(aurora, "olivia", borealis.people["charlie"], 3)

    @pytest.mark.parametrize(
        ("resource", "terms"),
        [
            ("gpus", Terms(1)),
            ("accelerators/", Terms(1)),
            ("vcpus/H100", Terms(1)),
            (GPU, Terms(-2)),
            (GPU, Terms(10**13)),
            (GPU, Terms(1, borrow_limit=-2)),
        ],
    )
    def test_refuses_what_cannot_be_meant(self, aurora, resource, terms):
        with an_act(), aurora.scope(), pytest.raises(Invalid):
            quotas.define_one(
                actor=aurora.actor("olivia"),
                place=aurora.people["alice"],
                resource=resource,
                terms=terms,
                now=timezone.now(),
            )

    def test_there_is_one_quota_for_each_place_and_resource(self, aurora):
        with pytest.raises(Conflict):
            define(aurora, "olivia", aurora.projects["vision"], 3)

    def test_a_person_neither_borrows_nor_lends(self, aurora):
        with pytest.raises(Invalid):
            define(aurora, "olivia", aurora.people["alice"], 3, borrow_limit=1)

    def test_a_stale_change_is_refused(self, aurora):
        row = quota(aurora, aurora.projects["vision"], 8)
        with an_act(), aurora.scope(), pytest.raises(Stale):
            quotas.set_limit(
                actor=aurora.actor("olivia"), quota_id=row.pk, limit=9, now=timezone.now(), expected_version=99
            )


class TestWhoSees:
    def test_one_sees_ones_projects_what_stands_above_and_ones_own(self, aurora):
        quota(aurora, aurora.organization, 8)
        quota(aurora, team(aurora, "perception", "vision"), 8)
        quota(aurora, team(aurora, "speech", "language"), 8)
        quota(aurora, aurora.people["alice"], 8)
        quota(aurora, aurora.people["bob"], 8)

        assert levels(aurora, "bob") == {"organization": {"aurora"}, "team": {"perception"}, "project": {"vision"}} | {
            "user": {"bob@aurora.example"}
        }
        assert levels(aurora, "olivia")["user"] == {"alice@aurora.example", "bob@aurora.example"}

    def test_one_without_a_place_sees_none(self, aurora):
        quota(aurora, aurora.organization, 8)
        house.join(aurora, "otto", "developer", projects=("language",))
        with an_act(), aurora.scope():
            assert not quotas_visible_to(house.actor_for(User(pk=holder().id), aurora.organization)).exists()


def levels(tenant, name):
    found: dict[str, set[str]] = {}
    with tenant.scope():
        for row in quotas_visible_to(tenant.actor(name)):
            place = quotas.place_of(row)
            found.setdefault(str(row.level), set()).add(place.email if isinstance(place, User) else place.slug)
    return found
