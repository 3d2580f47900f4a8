"""A pytest plugin: starts a throw-away PostgreSQL and Valkey before Django's settings are read.

`DATABASE_URL` (a superuser's address) and `REDIS_URL` in the environment are used instead where they are set.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

import pytest

from portal.up.ephemeral import servers

_stack = ExitStack()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Once for the whole run: workers inherit the addresses through the environment."""
    if "DATABASE_URL" in os.environ:
        _take_a_cache_of_ones_own()
        return
    running = _stack.enter_context(servers())
    os.environ["DATABASE_URL"] = running.owner_url
    os.environ["REDIS_URL"] = running.redis_url
    os.environ["STEELYARD_TEST_APP_URL"] = running.app_url


def _take_a_cache_of_ones_own() -> None:
    """Each worker of a run counts throttles and clears its cache in a database of its own."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    address, slash, number = os.environ.get("REDIS_URL", "").rpartition("/")
    if worker.isdigit() and slash and number == "0":
        os.environ["REDIS_URL"] = f"{address}/{int(worker) + 1}"


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    _stack.close()
