"""Fixtures that every test may use: two organisations that know nothing of each other, and their people."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher

from tests import house
from tests.house import Tenant
from tests.kept import Kept, keep

Argon2PasswordHasher.time_cost, Argon2PasswordHasher.memory_cost, Argon2PasswordHasher.parallelism = 1, 8, 1
"""Passwords of tests protect nobody: the hash is real, its cost is not."""
_KEPT: dict[Callable[[], Tenant], Kept] = {}


@pytest.fixture
def aurora(db: None) -> Tenant:
    return _laid(house.aurora)


@pytest.fixture
def borealis(db: None) -> Tenant:
    return _laid(house.borealis)


def _laid(build: Callable[[], Tenant]) -> Tenant:
    if build not in _KEPT or not _KEPT[build].holds:
        _KEPT[build] = keep(build)
    return _KEPT[build].lay()
