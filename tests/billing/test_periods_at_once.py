"""Periods when several transactions ask for them at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, connections

from billing.models import BillingPeriod
from billing.services import periods
from core import scope
from tests import house
from tests.billing.shop import at

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tenant(transactional_db):
    return house.found("aurora", projects=("vision",))


def take_in(organization_id, instant):
    try:
        with scope.of_organization(organization_id):
            return periods.taking_in(organization_id=organization_id, at=instant).name
    finally:
        connections.close_all()


class TestAtOnce:
    def test_first_facts_of_different_months_leave_no_gap(self, tenant):
        instants = [at(15, month=month) for month in (12, 8, 10, 8, 12, 9)]

        with ThreadPoolExecutor(len(instants)) as pool:
            names = list(pool.map(lambda instant: take_in(tenant.organization.pk, instant), instants))

        assert names == ["2026-12", "2026-08", "2026-10", "2026-08", "2026-12", "2026-09"]
        with tenant.scope():
            rows = list(BillingPeriod.objects.order_by("start"))
        assert [row.name for row in rows] == ["2026-08", "2026-09", "2026-10", "2026-11", "2026-12"]
        assert all(row.end - row.start >= timedelta(days=29) for row in rows)

    def test_a_period_cannot_be_taken_for_closing_while_a_fact_is_taken_in(self, tenant):
        take_in(tenant.organization.pk, at(3))

        def close():
            try:
                with scope.of_platform(), connection.cursor() as cursor:
                    cursor.execute("SELECT 1 FROM billing_billingperiod FOR UPDATE NOWAIT")
            finally:
                connections.close_all()

        with ThreadPoolExecutor(1) as pool:
            with tenant.scope():
                periods.taking_in(organization_id=tenant.organization.pk, at=at(3))
                with pytest.raises(OperationalError, match="could not obtain lock"):
                    pool.submit(close).result()
            pool.submit(close).result()
