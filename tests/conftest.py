"""Fixtures that every test may use: two organisations that know nothing of each other, and their people."""

from __future__ import annotations

import pytest

from tests import house


@pytest.fixture
def aurora(db):
    tenant = house.found("aurora", projects=("vision", "language"))
    house.join(tenant, "olivia", "owner")
    house.join(tenant, "billie", "billing")
    house.join(tenant, "alice", "developer", projects=("vision", "language"))
    house.join(tenant, "bob", "developer", projects=("vision",))
    house.join(tenant, "victor", "viewer", projects=("vision", "language"))
    return tenant


@pytest.fixture
def borealis(db):
    tenant = house.found("borealis", projects=("drugs",), time_zone="America/Los_Angeles")
    house.join(tenant, "boris", "owner")
    house.join(tenant, "charlie", "developer", projects=("drugs",))
    return tenant
