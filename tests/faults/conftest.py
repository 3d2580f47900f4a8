from __future__ import annotations

import pytest

from provisioning.drivers.local.driver import LocalDriver
from tests.drivers.rig import LocalRig
from tests.faults import workers
from tests.faults.nursery import config_of
from tests.provisioning import stage


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def hired(django_db_setup, folder):
    with workers.hired(folder) as found:
        yield found


@pytest.fixture
def shop(db):
    stage.open_shop()


@pytest.fixture
def local(folder):
    """The driver that the workers use, seen from here; nothing that it started outlives the test."""
    rig = LocalRig(LocalDriver(config_of(folder)))
    yield rig.driver
    rig.end_everything()
