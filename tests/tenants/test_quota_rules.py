"""Quotas as arithmetic: truth tables worked by hand, and what holds in every interleaving."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenants.enums import QuotaLevel
from tenants.quota_rules import Book, limit_at, refusals, with_pools
from tenants.types import Pool, QuotaLine

ID = UUID(int=1)
ORGANIZATION, TEAM, PROJECT, USER = QuotaLevel
PLACES = {ORGANIZATION: "aurora", TEAM: "perception", PROJECT: "vision", USER: "alice@aurora.example"}


def line(level, limit, used=0, *, place="", **more):
    return QuotaLine(ID, level, place or PLACES[level], "accelerators/H100", limit, used, **more)


def told(ladder, asked):
    return [(reason.code, reason.level, reason.used, reason.limit) for reason in refusals(tuple(ladder), asked)]


class TestOneLevel:
    @pytest.mark.parametrize(
        ("used", "asked", "limit", "admitted"),
        [(0, 0, 0, True), (0, 1, 0, False), (8, 2, 10, True), (8, 3, 10, False), (12, 1, 10, False), (12, 0, 10, True)],
    )
    @pytest.mark.parametrize("level", list(QuotaLevel))
    def test_admits_up_to_the_limit_and_not_one_more(self, level, used, asked, limit, admitted):
        assert (told([line(level, limit, used)], asked) == []) is admitted

    def test_c28_says_how_far_over_it_is(self):
        [reason] = refusals((line(PROJECT, 10, 8),), 4)

        assert reason.message == "2 H100 GPUs over (8 used + 4 asked > 10)."

    @pytest.mark.parametrize(
        ("level", "message", "ask"),
        [
            (ORGANIZATION, "Organisation aurora: ", "the platform's administrator, who sets the quotas of the"),
            (TEAM, "Team perception: ", "an owner of the organisation, who sets the quotas of the team perception"),
            (PROJECT, "", "an owner of the organisation, who sets the quotas of vision"),
            (
                USER,
                "Quota of alice@aurora.example: ",
                "an owner of the organisation, who sets the quotas of alice@",
            ),
        ],
    )
    def test_c31_names_level_resource_numbers_and_whom_to_ask(self, level, message, ask):
        [reason] = refusals((line(level, 10, 8),), 4)

        assert reason.message == f"{message}2 H100 GPUs over (8 used + 4 asked > 10)."
        assert (reason.level, reason.resource, reason.asked, reason.used, reason.limit) == (
            level,
            "accelerators/H100",
            4,
            8,
            10,
        )
        assert (reason.ask or "").startswith(ask)

    def test_a_temporary_raise_ends_at_its_instant(self):
        end = datetime(2026, 12, 1, 12, tzinfo=UTC)

        assert limit_at(16, end, 8, datetime(2026, 12, 1, 11, 59, 59, tzinfo=UTC)) == 16
        assert limit_at(16, end, 8, end) == 8
        assert limit_at(16, None, None, end) == 16


class TestLevels:
    def test_every_level_that_says_no_is_named_from_above(self):
        ladder = [line(ORGANIZATION, 8, 8), line(TEAM, 20), line(PROJECT, 10, 9), line(USER, 1, 1)]

        assert told(ladder, 4) == [
            ("over_quota", "organization", 8, 8),
            ("over_quota", "project", 9, 10),
            ("over_quota", "user", 1, 1),
        ]

    def test_a_book_names_every_resource_and_knows_no_limit_where_no_quota_stands(self):
        book = Book({"accelerators/H100": (line(PROJECT, 2),), "vcpus": (line(ORGANIZATION, 0),)})

        found = book.shortfalls({"accelerators/H100": 4, "vcpus": 1, "memory_gib": 10**9})

        assert [(each.resource, each.level) for each in found] == [
            ("accelerators/H100", "project"),
            ("accelerators/H100", "organization"),
        ]


def cohort(mine, *others, parent=None):
    """A ladder of one project among others, each of which may share."""
    ladder = (parent, mine) if parent else (mine,)
    return with_pools(ladder, [(PROJECT, others)])


class TestBorrowing:
    """The worked example of docs/quotas.md: vision may hold 8, language 8; vision may borrow 4, language lends 6."""

    vision = line(PROJECT, 8, borrow_limit=4)
    language = line(PROJECT, 8, place="language", lend_limit=6)

    @pytest.mark.parametrize(
        ("vision", "language", "asked", "told_"),
        [
            (8, 0, 4, []),
            (8, 0, 5, ["over_quota"]),  # 13 > 8 + 4
            (8, 4, 4, []),  # 16 in all, language keeps 2 and uses 4
            (8, 5, 4, ["nothing_to_borrow"]),  # 8 - 5 leave 3
            (8, 0, 0, []),
            (10, 6, 1, ["nothing_to_borrow"]),
            (4, 6, 4, []),
        ],
    )
    def test_takes_what_the_sibling_leaves_and_lends(self, vision, language, asked, told_):
        mine = line(PROJECT, 8, vision, borrow_limit=4)

        ladder = cohort(mine, line(PROJECT, 8, language, place="language", lend_limit=6))

        assert [reason.code for reason in refusals(ladder, asked)] == told_

    def test_what_the_lender_keeps_is_never_lent(self):
        mine = line(PROJECT, 8, 8, borrow_limit=8)

        ladder = cohort(mine, line(PROJECT, 8, 0, place="language", lend_limit=6))

        assert told(ladder, 6) == []
        [reason] = refusals(ladder, 7)
        assert reason.code == "nothing_to_borrow"
        assert reason.message == (
            "7 H100 GPUs above the limit (8 used + 7 asked > 8), and the others leave 6 to borrow."
        )

    def test_the_lender_is_told_who_has_its_share(self):
        mine = line(PROJECT, 8, 2, place="language")

        ladder = cohort(mine, line(PROJECT, 8, 12, borrow_limit=4))

        assert told(ladder, 2) == []
        [reason] = refusals(ladder, 6)
        assert (reason.code, reason.level) == ("lent_out", "project")
        assert reason.message == ("6 H100 GPUs asked, within the limit of 8, but 4 are lent to vision (4); 2 free now.")

    def test_a_third_never_takes_what_a_lender_keeps(self):
        """vision borrowed all that language lends; what audio asks within its own limit would come out of the rest."""
        mine = line(PROJECT, 2, 0, place="audio")
        vision = line(PROJECT, 4, 10, borrow_limit=6)
        language = line(PROJECT, 8, 0, place="language", lend_limit=4)

        [reason] = refusals(cohort(mine, vision, language), 1)

        assert reason.code == "lent_out"

    def test_nothing_passes_the_organisation_however_much_may_be_borrowed(self):
        parent = line(ORGANIZATION, 10, 8)
        mine = line(PROJECT, 8, 8, borrow_limit=8)

        assert told(cohort(mine, line(PROJECT, 8, 0, place="language"), parent=parent), 4) == [
            ("over_quota", "organization", 8, 10)
        ]

    def test_a_limit_that_was_lowered_takes_nothing_from_others(self):
        mine = line(PROJECT, 8, 0, place="language", borrow_limit=1)

        assert told(cohort(mine, line(PROJECT, 4, 8)), 8) == []

    def test_a_pool_shows_what_is_left_kept_and_lent(self):
        [mine] = cohort(
            line(PROJECT, 8, 2), line(PROJECT, 8, 10, borrow_limit=4), line(PROJECT, 4, 1, place="audio", lend_limit=2)
        )

        around = frozenset({("project", "vision"), ("project", "audio")})
        assert mine.pool == Pool(left=7, kept=1, borrowers=(("vision", 2),), around=around)
        assert mine.pool.lent == 2


@dataclass
class House:
    """An organisation in memory, that admits by the rules and by nothing else."""

    limits: dict[str, int]
    borrow: dict[str, int]
    lend: dict[str, int | None]
    top: int | None
    used: dict[str, int] = field(default_factory=dict)

    def ladder(self, place):
        lines = {
            name: line(
                PROJECT,
                limit,
                self.used.get(name, 0),
                place=name,
                borrow_limit=self.borrow[name],
                lend_limit=self.lend[name],
            )
            for name, limit in self.limits.items()
        }
        above = () if self.top is None else (line(ORGANIZATION, self.top, sum(self.used.values())),)
        return with_pools((*above, lines.pop(place)), [(PROJECT, tuple(lines.values()))])

    def take(self, place, amount):
        found = refusals(self.ladder(place), amount)
        if not found:
            self.used[place] = self.used.get(place, 0) + amount
        return found

    def kept(self, place):
        lends = self.lend[place]
        return self.limits[place] - (self.limits[place] if lends is None else min(lends, self.limits[place]))


small = st.integers(0, 12)
places = ("a", "b", "c")


@st.composite
def houses(draw):
    def each(kind):
        return {place: draw(kind) for place in places}

    limits = each(small)
    covered = sum(limits.values())
    top = draw(st.one_of(st.none(), st.integers(covered, covered + 4), small))
    return House(limits, each(small), each(st.one_of(st.none(), small)), top)


steps = st.lists(st.tuples(st.sampled_from(places), st.integers(-6, 12)), max_size=40)


class TestEveryInterleaving:
    @settings(max_examples=400, deadline=None)
    @given(houses(), steps)
    def test_no_limit_is_passed_and_each_refusal_says_why(self, house, acts):
        for place, amount in acts:
            if amount < 0:
                house.used[place] = max(house.used.get(place, 0) + amount, 0)
                continue
            found = house.take(place, amount)
            assert all(reason.message and reason.ask and reason.limit is not None for reason in found)
            all_ = sum(house.used.values())
            assert all(house.used.get(each, 0) <= house.limits[each] + house.borrow[each] for each in places)
            assert all_ <= (sum(house.limits.values()) if house.top is None else house.top)

    @settings(max_examples=400, deadline=None)
    @given(houses(), steps)
    def test_what_a_lender_keeps_is_there_when_it_asks(self, house, acts):
        """Where the limits are covered by the organisation's: what a place does not lend it gets, at any time."""
        if house.top is not None and house.top < sum(house.limits.values()):
            return
        for place, amount in acts:
            if amount < 0:
                house.used[place] = max(house.used.get(place, 0) + amount, 0)
            else:
                house.take(place, amount)
            for each in places:
                due = house.kept(each) - house.used.get(each, 0)
                assert refusals(house.ladder(each), due) == ()

    @settings(max_examples=200, deadline=None)
    @given(houses(), steps)
    def test_where_nobody_may_borrow_everybody_gets_their_limit(self, house, acts):
        if house.top is not None and house.top < sum(house.limits.values()):
            return
        house.borrow = dict.fromkeys(places, 0)
        for place, amount in acts:
            house.take(place, abs(amount))
            for each in places:
                assert refusals(house.ladder(each), house.limits[each] - house.used.get(each, 0)) == ()
