from __future__ import annotations

import pytest

from tests.fleet import answering


@pytest.fixture(autouse=True)
def fleet():
    """Clusters behind an API server, real or not, are well."""
    with answering() as found:
        yield found
