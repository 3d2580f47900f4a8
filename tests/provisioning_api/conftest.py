from __future__ import annotations

import pytest
from django.utils import timezone

from tests import house
from tests.provisioning import stage


@pytest.fixture(autouse=True)
def shop(db):
    stage.open_shop()


@pytest.fixture
def clock():
    return stage.Clock(timezone.now())


@pytest.fixture
def machine(clock):
    return stage.Machine(clock)


@pytest.fixture
def alice(aurora):
    return house.api_for(aurora, "alice")


@pytest.fixture
def victor(aurora):
    """He may look at everything and touch nothing."""
    return house.api_for(aurora, "victor")


@pytest.fixture
def queued(aurora, clock):
    return stage.launch(aurora, now=clock.now)


@pytest.fixture
def running(aurora, queued, machine, clock):
    return stage.settle(aurora, queued, machine, clock, seconds=3)
