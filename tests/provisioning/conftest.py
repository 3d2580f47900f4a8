from __future__ import annotations

import pytest

from tests.provisioning import stage


@pytest.fixture
def shop(db):
    stage.open_shop()


@pytest.fixture
def clock():
    return stage.Clock()


@pytest.fixture
def machine(clock):
    return stage.Machine(clock)
