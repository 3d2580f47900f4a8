"""Fixtures that every test may use: two organisations that know nothing of each other, and their people."""

from __future__ import annotations

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher

from tests import house

Argon2PasswordHasher.time_cost, Argon2PasswordHasher.memory_cost = 1, 64
"""Passwords of tests protect nobody: the hash is real, its cost is not."""


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
