"""Months of time zones, through the draft invoice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest

from billing.selectors import draft_invoice
from core.timezones import month
from tests import house
from tests.billing.shop import H100, LONG_AGO, hold, sell

pytestmark = pytest.mark.django_db


def customer(zone: str):
    tenant = house.found("customer", projects=("vision",), time_zone=zone)
    house.join(tenant, "billie", "billing")
    sell(H100, ("2.00", LONG_AGO))
    return tenant


def draft(tenant, name: str):
    with tenant.scope():
        return draft_invoice(tenant.actor("billie"), name, datetime(2026, 12, 31, tzinfo=UTC))


def test_c81_in_tokyo_a_job_around_the_month_end_in_utc_is_on_one_invoice():
    tenant = customer("Asia/Tokyo")
    hold(
        tenant,
        project="vision",
        since=datetime(2026, 10, 31, 23, 30, tzinfo=UTC),
        until=datetime(2026, 11, 1, 0, 30, tzinfo=UTC),
    )

    [line] = draft(tenant, "2026-11").lines

    assert (line.line.quantity, line.amount.amount) == (1, Decimal("2.00"))
    assert draft(tenant, "2026-10").lines == ()


@pytest.mark.parametrize(("name", "hours"), [("2026-03", 743), ("2026-10", 745)])
def test_c82_a_gpu_all_month_in_berlin_is_743_hours_in_march_and_745_in_october(name, hours):
    tenant = customer("Europe/Berlin")
    span = month(2026, int(name[-2:]), "Europe/Berlin")
    hold(tenant, project="vision", since=span.start, until=span.end)

    [line] = draft(tenant, name).lines

    assert (line.line.quantity, line.amount.amount) == (Fraction(hours), Decimal(2 * hours))


def test_c86_what_stops_at_half_past_eleven_local_on_the_last_day_belongs_to_that_day():
    tenant = customer("America/Los_Angeles")
    stopped = datetime(2026, 11, 30, 23, 30, tzinfo=ZoneInfo("America/Los_Angeles"))
    hold(tenant, project="vision", since=stopped - timedelta(hours=1), until=stopped)

    [line] = draft(tenant, "2026-11").lines

    assert stopped.astimezone(UTC).month == 12
    assert line.line.quantity == 1
    assert draft(tenant, "2026-12").lines == ()


def test_c88_january_in_budapest_begins_and_ends_at_23_utc():
    span = month(2025, 1, "Europe/Budapest")

    assert span.start == datetime(2024, 12, 31, 23, tzinfo=UTC)
    assert span.end == datetime(2025, 1, 31, 23, tzinfo=UTC)
