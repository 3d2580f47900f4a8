"""A pytest plugin of `make test`: quick files first, whole platforms last; a file stays on one worker."""

from __future__ import annotations

import pytest

_RANKS = {"slow": 1, "browser": 2, "platform": 3}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ranks: dict[str, int] = {}
    for item in items:
        rank = max((_RANKS.get(mark.name, 0) for mark in item.iter_markers()), default=0)
        ranks[_file(item)] = max(ranks.get(_file(item), 0), rank)
    items.sort(key=lambda item: ranks[_file(item)])
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if item.get_closest_marker("xdist_group") is None:
                item.add_marker(pytest.mark.xdist_group(_file(item)))


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
