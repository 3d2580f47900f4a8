"""A pytest plugin of `make test`: what takes longest begins first, so that all workers end at the same time."""

from __future__ import annotations

from collections import Counter

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

_TOGETHER = ("tests/browser/", "tests/kube/")
"""Folders whose files share one platform or one cluster; elsewhere a file is by itself."""
_LONGEST = "tests/faults/test_platform.py"
_QUICK = 4
_RANKS = {"platform": 2, "browser": 3, "slow": 3}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    _refuse_shared_ids(items)
    ranks: dict[str, int] = {}
    for item in items:
        place = _file(item.nodeid)
        ranks[place] = min(ranks.get(place, _QUICK), _rank(item))
    items.sort(key=lambda item: ranks[_file(item.nodeid)])


def _rank(item: pytest.Item) -> int:
    if item.nodeid.startswith(_TOGETHER):
        return 0
    if item.nodeid.startswith(_LONGEST):
        return 1
    return min((_RANKS.get(mark.name, _QUICK) for mark in item.iter_markers()), default=_QUICK)


def _refuse_shared_ids(items: list[pytest.Item]) -> None:
    """Of tests that share an id xdist runs one alone, and says nothing."""
    shared = [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]
    if shared:
        raise pytest.UsageError(f"These names belong to several tests each: {', '.join(shared)}")


class FileAfterFile(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types
    """By the test's own name: xdist writes its group marks into names that newer pytests no longer read back."""

    def _split_scope(self, nodeid: str) -> str:
        return next((folder for folder in _TOGETHER if nodeid.startswith(folder)), _file(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileAfterFile:
    return FileAfterFile(config, log)


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
