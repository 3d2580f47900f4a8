from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioning.drivers.local.driver import LocalDriver
from tests.drivers.rig import LocalRig, config_in

pytest.register_assert_rewrite("tests.drivers.contract")


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[LocalRig]:
    """A driver with a state folder of its own. Nothing it started outlives the test."""
    made = LocalRig(LocalDriver(config_in(tmp_path)))
    yield made
    made.end_everything()
