"""A pytest plugin of `make test`: quick files first, whole platforms last, the longest of these before the others."""

from __future__ import annotations

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

_RANKS = {"slow": 1, "browser": 2, "kube": 3, "platform": 3}
_TOGETHER = ("tests/browser/", "tests/kube/")
"""Folders whose files share one platform or one cluster; elsewhere a file is by itself."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks: dict[str, int] = {}
    for item in items:
        rank = max((_RANKS.get(mark.name, 0) for mark in item.iter_markers()), default=0)
        ranks[_file(item.nodeid)] = max(ranks.get(_file(item.nodeid), 0), rank)
    items.sort(key=lambda item: (ranks[_file(item.nodeid)], not item.nodeid.startswith(_TOGETHER)))


class FileAfterFile(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types
    """By the test's own name: xdist writes its group marks into names that newer pytests no longer read back."""

    def _split_scope(self, nodeid: str) -> str:
        return next((folder for folder in _TOGETHER if nodeid.startswith(folder)), _file(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileAfterFile:
    return FileAfterFile(config, log)


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
