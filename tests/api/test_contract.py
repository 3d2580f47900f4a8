"""Schemathesis against the description that the API serves: sensible and senseless requests, through WSGI.

No request may crash the server, and no answer may be missing from the description.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from core.api import limits
from portal.wsgi import application
from tests import house
from tests.api.scenarios import running

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
EXAMPLES = 6
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]

schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application)
schema.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
rejection = schema.config.checks.negative_data_rejection
rejection.expected_statuses = [*rejection.expected_statuses, "413"]  # what is senseless may be too large as well


@pytest.fixture
def owner(aurora, monkeypatch) -> Iterator[dict[str, str]]:
    """Django's test client holds on to the test's connection in this way, too."""
    monkeypatch.setattr(limits, "spend", lambda _who: None)
    running(aurora)
    ends = (request_started, request_finished)
    for signal in ends:
        signal.disconnect(close_old_connections)
    yield {"Authorization": f"Bearer {house.token_for(aurora, 'olivia')}"}
    for signal in ends:
        signal.connect(close_old_connections)


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_declared(case, owner):
    case.call_and_validate(headers=owner, checks=CHECKS)
