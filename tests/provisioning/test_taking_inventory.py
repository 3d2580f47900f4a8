"""Lists of nodes come in, repeated, late or not at all; the books say what was in service, and since when."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from hypothesis import given, settings
from hypothesis import strategies as st

from core import scope
from core.ids import uuid7
from core.models import AuditEvent
from provisioning.drivers import registry
from provisioning.drivers.base import DriverUnavailable
from provisioning.enums import Standing
from provisioning.models import CapacityInterval, Cluster, Node, Region
from provisioning.reconciler import sweeping
from provisioning.services.inventory import take_inventory
from tests.provisioning.stage import NOON
from tests.provisioning.test_inventory import facts, h100

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture
def cluster(db):
    return make_cluster()


def make_cluster() -> Cluster:
    region, _ = Region.objects.get_or_create(slug="here", defaults={"label": "Here"})
    nothing = {"accelerators": {}, "vcpus": 0, "memory_gib": 0}
    return Cluster.objects.create(
        slug=f"k-{uuid7().hex[-12:]}",
        label="K",
        driver="kubernetes",
        region=region,
        capacity=nothing,
        used={"vcpus": 7},
    )


def take(cluster, *nodes, minutes=0):
    return take_inventory(cluster_id=cluster.pk, nodes=nodes, now=NOON + minutes * MINUTE)


def spans(cluster):
    """(node, count, from, to) of each interval, in minutes after noon."""
    rows = (
        CapacityInterval.objects.filter(cluster=cluster)
        .select_related("node")
        .order_by("during__startswith", "node__name")
    )
    return [
        (
            row.node.name,
            row.count,
            (row.during.lower - NOON) // MINUTE,
            row.during.upper and (row.during.upper - NOON) // MINUTE,
        )
        for row in rows
    ]


def changes(cluster):
    with scope.of_platform():
        return AuditEvent.objects.filter(verb="cluster.inventory_changed", object_id=str(cluster.pk)).count()


class TestTaking:
    def test_nodes_and_sums_are_what_the_list_says_and_used_stays(self, cluster):
        take(cluster, h100(name="a"), facts(name="b"))

        cluster.refresh_from_db()
        assert cluster.capacity == {"accelerators": {"H100": 8}, "vcpus": 128, "memory_gib": 1024}
        assert (cluster.out_of_service, cluster.used) == ({}, {"vcpus": 7})
        assert spans(cluster) == [("a", 8, 0, None)]
        one = Node.objects.get(cluster=cluster, name="a")
        assert one.allocatable["accelerators"][0]["memory_mib"] == 81559
        assert one.topology == {"host": "a", "interconnect": {}}

    def test_the_same_again_changes_nothing_but_when_it_was_seen(self, cluster):
        take(cluster, h100(), minutes=0)
        take(cluster, h100(), minutes=1)

        assert spans(cluster) == [("n1", 8, 0, None)]
        assert Node.objects.get(cluster=cluster).seen_at == NOON + MINUTE
        assert changes(cluster) == 1

    @pytest.mark.parametrize("minutes", [3, 5])
    def test_an_older_list_or_the_same_moment_changes_nothing(self, cluster, minutes):
        take(cluster, h100(), minutes=5)

        assert take(cluster, minutes=minutes) is False

        assert spans(cluster) == [("n1", 8, 5, None)]
        assert Node.objects.get(cluster=cluster).gone_at is None

    def test_a_cordoned_node_is_out_of_service_and_back_again(self, cluster):
        take(cluster, h100(), minutes=0)
        take(cluster, h100(unschedulable=True), minutes=1)

        cluster.refresh_from_db()
        assert cluster.capacity["accelerators"] == {"H100": 8}
        assert cluster.out_of_service == {"accelerators/H100": 8, "vcpus": 64, "memory_gib": 512}
        one = Node.objects.get(cluster=cluster)
        assert (one.standing, one.reason) == (Standing.CORDONED, "It is cordoned.")

        take(cluster, h100(), minutes=3)

        cluster.refresh_from_db()
        assert cluster.out_of_service == {}
        assert spans(cluster) == [("n1", 8, 0, 1), ("n1", 8, 3, None)]

    def test_a_broken_device_shortens_the_count(self, cluster):
        take(cluster, h100(), minutes=0)
        take(cluster, h100(allocatable={"nvidia.com/gpu": "6"}), minutes=2)

        assert spans(cluster) == [("n1", 8, 0, 2), ("n1", 6, 2, None)]

    def test_a_node_that_is_no_longer_listed_is_gone(self, cluster):
        take(cluster, h100(name="a"), h100(name="b"), minutes=0)
        take(cluster, h100(name="a"), minutes=1)

        assert spans(cluster) == [("a", 8, 0, None), ("b", 8, 0, 1)]
        assert Node.objects.get(cluster=cluster, name="b").gone_at == NOON + MINUTE

    def test_a_node_made_anew_under_the_same_name_is_another_one(self, cluster):
        take(cluster, h100(), minutes=0)
        take(cluster, replace(h100(), uid="another"), minutes=1)

        assert spans(cluster) == [("n1", 8, 0, 1), ("n1", 8, 1, None)]
        assert Node.objects.filter(cluster=cluster).count() == 2

    def test_no_accelerators_no_intervals(self, cluster):
        take(cluster, facts(), facts({"nvidia.com/gpu": "0"}, name="b"))

        assert spans(cluster) == []

    def test_an_empty_list_is_a_list(self, cluster):
        take(cluster, h100(), minutes=0)
        take(cluster, minutes=1)

        cluster.refresh_from_db()
        assert cluster.capacity == {"accelerators": {}, "vcpus": 0, "memory_gib": 0}
        assert spans(cluster) == [("n1", 8, 0, 1)]

    def test_costs_as_many_queries_for_many_nodes(
        self, cluster, django_assert_num_queries, django_assert_max_num_queries
    ):
        take(cluster, minutes=0)

        with django_assert_max_num_queries(20):
            take(cluster, *(h100(name=f"n{n}") for n in range(50)), minutes=1)


class TestIntervals:
    @settings(max_examples=15, deadline=None)
    @given(
        st.lists(
            st.tuples(
                st.integers(-2, 4),
                st.dictionaries(st.sampled_from("ab"), st.tuples(st.integers(0, 8), st.booleans()), max_size=2),
            ),
            max_size=7,
        )
    )
    def test_sum_up_to_capacity_times_time(self, lists):
        """Each list comes some minutes after the newest one, or before it: then it says nothing."""
        cluster = make_cluster()
        newest, at, expected = None, 0, 0
        for minutes, listed in lists:
            nodes = [h100(count, name=name, unschedulable=cordoned) for name, (count, cordoned) in listed.items()]
            take(cluster, *nodes, minutes=at + minutes)
            if newest is None or minutes > 0:
                expected += minutes * newest if newest is not None else 0
                newest, at = sum(count for count, cordoned in listed.values() if not cordoned), at + minutes
        end = at + 10
        expected += 10 * (newest or 0)

        assert sum(count * ((end if to is None else to) - since) for _, count, since, to in spans(cluster)) == expected

    def test_change_once_and_never_go(self, cluster):
        take(cluster, h100(), minutes=0)
        take(cluster, minutes=1)
        rows = CapacityInterval.objects.filter(cluster=cluster)

        with pytest.raises(DatabaseError, match="changes once"), transaction.atomic():
            rows.update(count=9)
        with pytest.raises(DatabaseError, match="changes once"), transaction.atomic():
            rows.update(during=DateTimeTZRange(NOON, None))
        with pytest.raises(DatabaseError, match="never deleted"), transaction.atomic():
            rows.delete()

    def test_never_overlap(self, cluster):
        take(cluster, h100())
        row = CapacityInterval.objects.get(cluster=cluster)

        row.pk, row._state.adding = uuid7(), True
        with pytest.raises(IntegrityError, match="no_overlap"), transaction.atomic():
            row.save()


class Told:
    def __init__(self, *answers):
        self.answers = list(answers)

    def nodes(self):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class TestSweep:
    @pytest.fixture
    def sweep(self, cluster, clock):
        @contextmanager
        def using(driver):
            with registry.using("kubernetes", driver):
                yield

        def sweep(driver):
            with using(driver):
                return sweeping.sweep_inventory(drivers=registry.driver_at, clock=clock)

        return sweep

    def test_asks_clusters_that_have_nodes(self, cluster, sweep):
        assert sweep(Told((h100(),))) == 1
        assert spans(cluster) == [("n1", 8, 0, None)]

    @pytest.mark.parametrize("failure", [DriverUnavailable("no route to host"), ValueError("'x' is not a quantity.")])
    def test_no_list_changes_nothing(self, cluster, sweep, clock, failure):
        driver = Told((h100(),), failure)
        sweep(driver)
        clock.pass_(minutes=1)

        assert sweep(driver) == 0

        assert spans(cluster) == [("n1", 8, 0, None)]
        assert Node.objects.get(cluster=cluster).gone_at is None

    def test_a_driver_without_nodes_is_not_asked(self, cluster, sweep):
        assert sweep(object()) == 0
