from __future__ import annotations

from pathlib import Path

import pytest

from tests.fleet import answering

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Schemathesis gives the tests of all operations one id, and of tests that share an id xdist runs one alone."""
    for item in items:
        operation = getattr(item, "operation_label", None)
        if operation is not None and HERE in item.path.parents:
            item._id = item.id.with_params(operation)


@pytest.fixture(autouse=True)
def fleet():
    """Clusters behind an API server, real or not, are well."""
    with answering() as found:
        yield found
