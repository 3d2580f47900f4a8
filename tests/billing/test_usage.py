"""Usage sessions: opened, closed once, never overlapping, never lost."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import pytest
from django.db import DatabaseError, IntegrityError, connection
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange

from billing.errors import NotPriced
from billing.models import BillingPeriod, UsageSession
from billing.selectors import cost_so_far
from billing.services import usage
from core.ids import uuid7
from tests.billing.shop import DEVICE, DISK, H100, LONG_AGO, at, hold, sell
from tests.house import an_act

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(db):
    sell(H100, ("3.60", LONG_AGO))
    sell(DISK, ("0.0001", LONG_AGO), unit="gib_hour")


def close(tenant, workload, when, **more):
    with an_act(), tenant.scope():
        return usage.close_sessions(organization_id=tenant.organization.pk, workload_id=workload, at=when, **more)


def rows(tenant, workload):
    with tenant.scope():
        return list(UsageSession.objects.filter(workload_id=workload).order_by("id"))


class TestOpenAndClose:
    def test_a_session_is_weighed_to_the_microsecond(self, aurora, shop):
        start = at(3, 10)
        end = start + timedelta(microseconds=1_000_001)
        workload = hold(aurora, project="vision", since=start, until=end)

        with aurora.scope():
            cost = cost_so_far([workload], at(4))[workload]

        assert cost.exact == Fraction(36, 10) * Fraction(1_000_001, 3_600_000_000)

    def test_an_open_session_costs_up_to_now(self, aurora, shop):
        workload = hold(aurora, project="vision", quantity=2 * DEVICE, since=at(3, 10))

        with aurora.scope():
            assert str(cost_so_far([workload], at(3, 12, 30))[workload].money.amount) == "18.00"

    def test_opening_twice_opens_once_and_closing_twice_closes_once(self, aurora, shop):
        workload = hold(aurora, project="vision", since=at(3, 10))
        hold(aurora, project="vision", since=at(3, 11), workload=workload)

        assert close(aurora, workload, at(3, 12)) == 1
        assert close(aurora, workload, at(3, 13)) == 0
        [row] = rows(aurora, workload)
        assert (row.during.lower, row.during.upper) == (at(3, 10), at(3, 12))

    def test_a_change_of_scale_closes_and_opens(self, aurora, shop):
        workload = hold(aurora, project="vision", since=at(3, 10))
        hold(aurora, project="vision", quantity=4 * DEVICE, since=at(3, 11), workload=workload)

        first, second = rows(aurora, workload)
        assert (first.during.upper, second.during.lower, second.during.upper) == (at(3, 11), at(3, 11), None)

    def test_an_end_before_the_start_and_a_start_before_the_last_end_charge_nothing_twice(self, aurora, shop):
        workload = hold(aurora, project="vision", since=at(3, 10), until=at(3, 9))
        hold(aurora, project="vision", since=at(3, 8), workload=workload)

        first, second = rows(aurora, workload)
        assert first.during.upper - first.during.lower == timedelta(microseconds=1)
        assert second.during.lower == first.during.upper

    def test_only_the_named_components_close(self, aurora, shop):
        workload = hold(aurora, project="vision", since=at(3, 10))
        hold(aurora, project="vision", since=at(3, 10), workload=workload, sku=DISK, component="disk")

        assert close(aurora, workload, at(3, 12), components=["accelerator"]) == 1
        assert [row.component for row in rows(aurora, workload) if row.during.upper is None] == ["disk"]

    def test_what_has_no_price_is_not_held(self, aurora, shop):
        with pytest.raises(NotPriced, match="no price in USD"):
            hold(aurora, project="vision", sku="unknown", since=at(3))


class TestTheDatabase:
    def test_refuses_an_overlap(self, aurora, shop):
        workload = hold(aurora, project="vision", since=at(3, 10), until=at(3, 12))
        [row] = rows(aurora, workload)

        row.pk, row.during = uuid7(), DateTimeTZRange(at(3, 11), at(3, 13), "[)")
        with pytest.raises(IntegrityError, match="usage_session_no_overlap"), aurora.scope():
            row.save(force_insert=True)

    @pytest.mark.parametrize(
        "change",
        [
            {"during": DateTimeTZRange(at(3, 10), at(3, 13), "[)")},
            {"during": DateTimeTZRange(at(3, 10), None, "[)")},
            {"quantity_micro": 1},
            {"workload_label": "other"},
        ],
    )
    def test_refuses_to_change_a_closed_session(self, aurora, shop, change):
        workload = hold(aurora, project="vision", since=at(3, 10), until=at(3, 12))

        with pytest.raises(DatabaseError, match="changes once"), aurora.scope():
            UsageSession.objects.filter(workload_id=workload).update(**change)

    def test_refuses_to_move_an_open_sessions_start(self, aurora, shop):
        workload = hold(aurora, project="vision", since=at(3, 10))

        with pytest.raises(DatabaseError, match="changes once"), aurora.scope():
            UsageSession.objects.filter(workload_id=workload).update(during=DateTimeTZRange(at(3, 11), at(3, 12), "[)"))

    def test_refuses_to_delete(self, aurora, shop):
        workload = hold(aurora, project="vision", since=at(3, 10))

        with pytest.raises(DatabaseError, match="never deleted"), aurora.scope():
            UsageSession.objects.filter(workload_id=workload).delete()

    def test_refuses_a_session_of_another_tenants_project(self, aurora, borealis, shop):
        workload = hold(aurora, project="vision", since=at(3, 10), until=at(3, 12))
        [row] = rows(aurora, workload)

        row.pk, row.project_id, row.workload_id = uuid7(), borealis.projects["drugs"].pk, uuid7()
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        with pytest.raises(IntegrityError, match="_project_id"), aurora.scope():
            row.save(force_insert=True)

    def test_shows_a_stranger_nothing(self, aurora, borealis, shop):
        hold(aurora, project="vision", since=at(3, 10))

        with borealis.scope():
            assert UsageSession._base_manager.count() == 0


class TestPeriods:
    def test_a_late_fact_joins_the_first_open_period(self, aurora, shop):
        hold(aurora, project="vision", since=at(3, 10), until=at(3, 12))
        with aurora.scope():
            BillingPeriod.objects.filter(name="2026-11").update(state="closed")

        late = hold(aurora, project="vision", since=at(4, 10), until=at(4, 12))

        with aurora.scope():
            assert UsageSession.objects.select_related("period").get(workload_id=late).period.name == "2026-12"
