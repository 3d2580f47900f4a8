"""Rating is exact: how facts are cut or ordered changes no total."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing.periods import Span, holding, middle_of, reaching
from billing.rating import Held, PriceVersion, amount, hour_of, rate
from core.money import settle, settle_parts
from core.timezones import month

START, END = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
CHANGE = datetime(2026, 11, 15, 7, 30, tzinfo=UTC)
PRICES = (
    PriceVersion("gpu", "hour", Decimal("3.1000000001"), datetime(2026, 1, 1, tzinfo=UTC), CHANGE),
    PriceVersion("gpu", "hour", Decimal("2.75"), CHANGE, None),
    PriceVersion("disk", "gib_hour", Decimal("0.0001369863"), datetime(2026, 1, 1, tzinfo=UTC), None),
)
_MONTHS_MICROSECONDS = 90 * 86_400 * 1_000_000
offsets = st.integers(min_value=0, max_value=_MONTHS_MICROSECONDS)
sessions = st.builds(
    lambda project, sku, micro, since, lasts: Held(
        project,
        sku,
        micro,
        START - timedelta(days=30) + timedelta(microseconds=since),
        START - timedelta(days=30) + timedelta(microseconds=since + lasts),
    ),
    st.sampled_from(["language", "vision"]),
    st.sampled_from(["gpu", "disk"]),
    st.integers(min_value=1, max_value=64_000_000),
    offsets,
    offsets,
)


def total(lines):
    return sum((line.exact for line in lines), Fraction(0))


class TestRate:
    @given(st.lists(sessions, max_size=6), st.randoms())
    def test_the_order_of_facts_changes_nothing(self, facts, random):
        shuffled = list(facts)
        random.shuffle(shuffled)

        assert rate(shuffled, PRICES, start=START, end=END) == rate(facts, PRICES, start=START, end=END)

    @given(sessions, st.fractions(min_value=0, max_value=1))
    def test_splitting_a_session_changes_nothing(self, whole, share):
        lasts = (whole.end - whole.start) // timedelta(microseconds=1)
        cut = whole.start + timedelta(microseconds=int(lasts * share))
        halves = [
            Held(whole.project, whole.sku_code, whole.quantity_micro, whole.start, cut),
            Held(whole.project, whole.sku_code, whole.quantity_micro, cut, whole.end),
        ]

        assert rate(halves, PRICES, start=START, end=END) == rate([whole], PRICES, start=START, end=END)

    @given(st.lists(sessions, max_size=6))
    def test_periods_that_touch_share_a_total_and_lose_none(self, facts):
        first = rate(facts, PRICES, start=START, end=CHANGE)
        second = rate(facts, PRICES, start=CHANGE, end=END)

        assert total(first) + total(second) == total(rate(facts, PRICES, start=START, end=END))

    @given(st.lists(sessions, max_size=6), st.sampled_from(["USD", "JPY", "KWD"]))
    def test_settled_lines_sum_to_the_settled_total(self, facts, currency):
        lines = rate(facts, PRICES, start=START, end=END)

        parts = settle_parts([line.exact for line in lines], currency)

        assert sum((part.amount for part in parts), Decimal(0)) == settle(total(lines), currency).amount

    @pytest.mark.parametrize(("number", "hours"), [(3, 743), (10, 745), (11, 720)])
    def test_a_gpu_all_month_in_berlin_is_billed_every_hour_that_passed(self, number, hours):
        span = month(2026, number, "Europe/Berlin")
        price = PriceVersion("gpu", "hour", Decimal(2), datetime(2020, 1, 1, tzinfo=UTC), None)

        [line] = rate([Held("vision", "gpu", 1_000_000, span.start, None)], [price], start=span.start, end=span.end)

        assert (line.quantity, line.exact) == (hours, 2 * hours)

    def test_the_hour_that_repeats_is_one_hour(self):
        berlin = ZoneInfo("Europe/Berlin")
        price = PriceVersion("gpu", "hour", Decimal(4), datetime(2020, 1, 1, tzinfo=UTC), None)
        held = Held(
            "vision",
            "gpu",
            1_000_000,
            datetime(2026, 10, 25, 2, 30, tzinfo=berlin),
            datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=berlin),
        )
        span = month(2026, 10, "Europe/Berlin")

        [line] = rate([held], [price], start=span.start, end=span.end)

        assert line.exact == 4

    def test_an_hour_of_one_device_costs_the_unit_price(self):
        assert amount(hour_of(1_000_000), "hour", Decimal("2.49")) == Fraction("2.49")


class TestPeriods:
    def test_a_change_of_zone_counts_from_the_next_period_and_leaves_no_gap(self):
        known = [Span("2026-11", *_november("Europe/Berlin"))]

        added = reaching(known, instant=datetime(2027, 1, 20, tzinfo=UTC), zone="America/Los_Angeles")

        assert [span.name for span in added] == ["2026-12", "2027-01"]
        assert added[0].start == known[0].end
        assert added[0].end == added[1].start == datetime(2027, 1, 1, 8, tzinfo=UTC)

    @given(st.lists(st.integers(min_value=-1000, max_value=1000), max_size=5))
    def test_they_tile_time_in_whatever_order_facts_come(self, days):
        instants = [START + timedelta(days=day, hours=3) for day in days]
        zones = ["Europe/Berlin", "Pacific/Apia", "America/Los_Angeles"]
        known: list[Span] = []
        for index, instant in enumerate(instants):
            known = sorted(
                [*known, *reaching(known, instant=instant, zone=zones[index % 3])], key=lambda span: span.start
            )
            assert holding(known, instant)

        assert all(one.end == other.start for one, other in pairwise(known))
        assert len({span.name for span in known}) == len(known)
        assert all(span.holds(middle_of(span.name)) for span in known)


def _november(zone):
    span = month(2026, 11, zone)
    return span.start, span.end
