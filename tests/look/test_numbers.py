"""How numbers, money and times are written."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from core.money import Money
from portal.templatetags import look


class TestMoney:
    @pytest.mark.parametrize(
        ("amount", "currency", "written"),
        [
            ("4182.40", "USD", "$4,182.40"),
            ("0.10", "EUR", "€0.10"),
            ("-0.10", "USD", "−$0.10"),
            ("1200", "JPY", "¥1,200"),
            ("12.500", "KWD", "12.500 KWD"),
            ("0.00", "GBP", "£0.00"),
        ],
    )
    def test_is_written_with_its_sign_and_digits(self, amount: str, currency: str, written: str) -> None:
        assert look.money(Money(Decimal(amount), currency)) == written

    def test_nothing_is_a_dash(self) -> None:
        assert look.money(None) == "–"

    def test_tells_every_digit_when_asked(self) -> None:
        assert look.money_exact(Money(Decimal("-1234.4311712"), "EUR")) == "−1,234.4311712 EUR"


class TestRate:
    @pytest.mark.parametrize(
        ("amount", "currency", "written"),
        [
            ("3.1", "USD", "$3.10"),
            ("3.1000", "USD", "$3.10"),
            ("0.0041", "USD", "$0.0041"),
            ("40", "USD", "$40.00"),
            ("300", "JPY", "¥300"),
            ("0.5", "JPY", "¥0.5"),
        ],
    )
    def test_has_the_digits_that_it_needs(self, amount: str, currency: str, written: str) -> None:
        assert look.rate(Money(Decimal(amount), currency)) == written


class TestTimes:
    @pytest.mark.parametrize(
        ("span", "written"),
        [
            (timedelta(seconds=9), "9 s"),
            (timedelta(minutes=3, seconds=1), "3 min 1 s"),
            (timedelta(hours=4, seconds=18), "4 h 0 min 18 s"),
            (timedelta(days=60), "1,440 h 0 min 0 s"),
        ],
    )
    def test_a_duration_is_in_hours(self, span: timedelta, written: str) -> None:
        assert look.duration(span) == written

    @pytest.mark.parametrize(
        ("distance", "written"),
        [
            (timedelta(seconds=-3), "just now"),
            (timedelta(seconds=5), "in a moment"),
            (timedelta(minutes=-2), "2 minutes ago"),
            (timedelta(hours=-1, minutes=-1), "1 hour ago"),
            (timedelta(days=3, minutes=1), "in 3 days"),
        ],
    )
    def test_a_distance_from_now_is_in_words(self, distance: timedelta, written: str) -> None:
        assert look.ago(timezone.now() + distance) == written


def test_what_is_left_is_never_below_nothing() -> None:
    assert look.left(16, 9) == 7
    assert look.left(8, 9) == 0


def test_a_share_has_one_digit() -> None:
    assert look.share(372) == "37.2 %"


class TestBrowser:
    @pytest.mark.parametrize(
        ("sent", "shown"),
        [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/141.0.0.0 Safari/537.36",
                "Chrome 141 on Linux",
            ),
            ("Mozilla/5.0 (Windows NT 10.0) Chrome/141.0 Safari/537.36 Edg/141.0", "Edge 141 on Windows"),
            ("Mozilla/5.0 (Macintosh; Intel Mac OS X 15) Version/18.1 Safari/605.1", "Safari 18 on macOS"),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox 140 on Linux"),
            ("curl/8.5", "curl/8.5"),
            ("", "–"),
        ],
    )
    def test_is_told_by_name_version_and_system(self, sent, shown):
        assert look.browser(sent) == shown
