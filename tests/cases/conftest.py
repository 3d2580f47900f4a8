from __future__ import annotations

import pytest

from provisioning.drivers.registry import using
from tests.fleet import answering
from tests.provisioning import stage


@pytest.fixture
def shop(db):
    stage.open_shop()


@pytest.fixture
def clock(monkeypatch):
    """The test's clock is also the portal's."""
    made = stage.Clock()
    monkeypatch.setattr("django.utils.timezone.now", made)
    return made


@pytest.fixture
def machine(clock):
    made = stage.Machine(clock)
    with using("local", made):
        yield made


@pytest.fixture(autouse=True)
def fleet():
    """Clusters behind an API server, real or not, are well."""
    with answering() as found:
        yield found
