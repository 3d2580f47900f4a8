from __future__ import annotations

from ipaddress import ip_network

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def _own_network(settings: Settings) -> None:
    """The API servers of these tests are on this machine."""
    settings.STEELYARD = settings.STEELYARD | {"OUTGOING_NETWORKS": (ip_network("127.0.0.0/8"),)}
