"""The ground of projects is the same on every cluster: what a look found is on record, and rings once."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from core import scope
from core.models import AuditEvent
from provisioning.drivers import registry
from provisioning.drivers.base import DriverUnavailable
from provisioning.drivers.ground import Drift, GroundProof
from provisioning.enums import Drifted
from provisioning.models import Cluster
from provisioning.reconciler.grounds import sweep_grounds
from tests.provisioning.test_taking_inventory import make_cluster

pytestmark = pytest.mark.django_db
PROJECT = uuid4()
CHANGED = Drift(PROJECT, "NetworkPolicy default-deny", Drifted.CHANGED, "kubectl-edit")
FOREIGN = Drift(PROJECT, "NetworkPolicy let-me-in", Drifted.FOREIGN, "helm")


class Grounds:
    """A driver that is asked to keep them, and has these answers."""

    def __init__(self, *answers: GroundProof | Exception) -> None:
        self.answers = list(answers)

    def keep_ground(self) -> GroundProof:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def cluster(db) -> Cluster:
    return make_cluster()


@pytest.fixture
def sweep(clock):
    def sweep(*answers):
        clock.now += timedelta(minutes=5)
        with registry.using("kubernetes", Grounds(*answers)):  # type: ignore[arg-type]
            return sweep_grounds(drivers=registry.driver_at, clock=clock)

    return sweep


def alarms() -> list[dict[str, object]]:
    with scope.of_platform():
        return [
            each.after or {} for each in AuditEvent.objects.filter(verb="cluster.ground_drifted").order_by("at", "pk")
        ]


def fresh(cluster: Cluster) -> Cluster:
    with scope.of_platform():
        return Cluster.objects.get(pk=cluster.pk)


def test_what_is_as_it_should_be_is_proven_and_rings_nothing(cluster, sweep, clock):
    assert sweep(GroundProof(3)) == 0

    row = fresh(cluster)
    assert (row.ground["namespaces"], row.ground["mended"], row.ground["foreign"]) == (3, None, [])
    assert (row.ground_at, alarms()) == (clock.now, [])


def test_what_somebody_changed_rings_with_who_it_was_and_stays_on_record(cluster, sweep):
    assert sweep(GroundProof(3, (CHANGED,))) == 1
    assert sweep(GroundProof(3)) == 0

    (alarm,) = alarms()
    assert alarm == {"mended": [CHANGED.as_json()], "foreign": []}
    assert fresh(cluster).ground["mended"]["things"] == [CHANGED.as_json()]


def test_what_is_anothers_rings_when_it_comes_and_when_it_goes(cluster, sweep):
    told = [sweep(GroundProof(3, found)) for found in ((FOREIGN,), (FOREIGN,), (), ())]

    assert told == [1, 0, 1, 0]
    assert [alarm["foreign"] for alarm in alarms()] == [[FOREIGN.as_json()], []]


def test_a_cluster_that_does_not_answer_keeps_what_was_last_proven(cluster, sweep, clock):
    sweep(GroundProof(3))
    proven = clock.now

    assert sweep(DriverUnavailable("no route to host")) == 0

    row = fresh(cluster)
    assert (row.ground["namespaces"], row.ground_at) == (3, proven)
