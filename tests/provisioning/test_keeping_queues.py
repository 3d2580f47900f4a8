"""Queues of a cluster's own follow what organisations may hold; what others changed there is on record."""

from __future__ import annotations

import pytest
from django.utils import timezone

from core import scope
from core.models import AuditEvent
from provisioning.drivers import registry
from provisioning.drivers.base import DriverUnavailable
from provisioning.reconciler import sweeping
from tenants.services import quotas
from tests import house
from tests.provisioning.test_taking_inventory import make_cluster

pytestmark = pytest.mark.django_db


class Queues:
    """A driver that is asked to keep them, and has these answers."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def keep_queues(self, limits):
        self.asked.append(limits)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def sweep(clock):
    def sweep(driver):
        with registry.using("kubernetes", driver):
            return sweeping.sweep_queues(drivers=registry.driver_at, clock=clock)

    return sweep


@pytest.fixture
def cluster(db):
    cluster = make_cluster()
    cluster.offers = {"installed": ["kueue"], "topology": {"name": "racks", "levels": ["rack"]}}
    cluster.save()
    return cluster


def test_they_say_the_limits_of_whole_organisations(aurora, borealis, cluster, sweep):
    place, terms = aurora.organization, quotas.Terms(64)  # its projects have limits of their own already
    with house.an_act(), aurora.scope():
        quotas.define_one(actor=house.SYSTEM, place=place, resource="vcpus", terms=terms, now=timezone.now())
    driver = Queues(())

    assert sweep(driver) == 0

    (limits,) = driver.asked
    assert limits[aurora.organization.pk]["vcpus"] == 64
    assert borealis.organization.pk in limits


def test_what_others_changed_is_on_record(cluster, sweep):
    assert sweep(Queues(("sy-1", "sy-2"))) == 2

    with scope.of_platform():
        event = AuditEvent.objects.get(verb="cluster.queues_mended")
    assert (event.object_label, event.after) == (cluster.slug, {"queues": ["sy-1", "sy-2"]})


def test_a_cluster_that_does_not_answer_keeps_nobody_waiting(cluster, sweep):
    cluster.pk, cluster.slug = None, "other"
    cluster.save()
    driver = Queues(DriverUnavailable("no route to host"), ("sy-1",))

    assert sweep(driver) == 1


def test_a_cluster_without_kueue_is_not_asked(sweep):
    make_cluster()

    assert sweep(Queues()) == 0
