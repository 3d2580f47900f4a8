"""A run that is killed, and then a worker that is killed while it finds that out."""

from __future__ import annotations

import signal
from datetime import timedelta

import pytest
from django.utils import timezone

from provisioning.drivers.local import places, procfs, record
from provisioning.enums import State
from tests.faults.life import Life
from tests.provisioning.stage import fresh, why

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("shop")]

UNTIL_RUNNING = ["workload.launched", "workload.admitted", "workload.running"]
MOST_EFFECTS = 18
BEAT = timedelta(seconds=0.1)


def keeper(life: Life) -> procfs.Process:
    known = record.read(str(places.places_of(life.row.pk, life.driver.config).run))
    assert known is not None
    assert known.keeper_pid is not None
    found = procfs.process(known.keeper_pid)
    assert found is not None
    return found


@pytest.mark.parametrize("first", range(1, MOST_EFFECTS, 6))
def test_it_stops_once_and_is_charged_to_the_end_that_the_driver_found(aurora, hired, local, first):
    for number in range(first, first + 6, 2):
        life = Life(aurora, hired, local)
        life.rescue(State.RUNNING)
        procfs.send(signal.SIGKILL, [keeper(life)])

        life.work(State.STOPPED, fatal=number)
        life.rescue(State.STOPPED)

        life.check()
        life.check_history([*UNTIL_RUNNING, "workload.ended", "workload.stopped"])
        assert why(fresh(aurora, life.row)) == "interrupted"


def test_a_whole_tree_killed_at_once_is_charged_to_the_last_certain_sight_of_it(aurora, hired, local):
    life = Life(aurora, hired, local)
    life.rescue(State.RUNNING)
    tree = [keeper(life), *procfs.descendants_of(keeper(life).pid)]
    procfs.send(signal.SIGKILL, tree)
    killed = timezone.now()

    life.rescue(State.STOPPED)

    life.check()
    ((_, charged_to),) = life.charged("accelerator")
    assert charged_to is not None
    assert charged_to <= killed
    assert charged_to > killed - 20 * BEAT
