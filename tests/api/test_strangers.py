"""C112, C119: for every route and every foreign id there is nothing; lists hold one's own rows only."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tenants.models import AccessToken, Membership
from tests import house
from tests.api.ask import UNKNOWN, is_problem, send
from tests.api.routes import ApiRoute, lists, with_objects
from tests.api.scenarios import SCENARIOS, quota_of, running
from tests.provisioning import stage

pytestmark = pytest.mark.django_db
STRANGERS = ("boris", "charlie")
NO_OBJECT = {"month"}
"""Names in addresses that mean the same for everybody."""
OF_THE_PLATFORM = {"GET /api/v1/nodes", "GET /api/v1/people"}
"""Lists that are there for the platform's own people alone; tests of their own count their queries."""


def ids_of(tenant) -> dict[str, object]:
    """A real object for each name that an address uses."""
    with tenant.scope():
        token = AccessToken.objects.order_by("pk").first()
    return {
        "token_id": token.pk if token else UNKNOWN,
        "organization_id": tenant.organization.pk,
        "organization_slug": tenant.organization.slug,
        "project_id": tenant.projects["vision"].pk,
        "project_slug": "vision",
        "quota_id": quota_of(tenant).pk,
    }


@pytest.mark.parametrize("route", [one for one in with_objects() if set(one.parameters) - NO_OBJECT], ids=str)
def test_a_strangers_object_does_not_exist(aurora, borealis, route: ApiRoute):
    house.token_for(aurora, "alice")
    ids = {**dict.fromkeys(route.parameters, UNKNOWN), **ids_of(aurora)}
    if {"workload_id", "volume_id"} & set(route.parameters) and str(route) not in SCENARIOS:
        workload = running(aurora)
        ids |= {"workload_id": workload.pk, "volume_id": workload.volume_id}
    if str(route) in SCENARIOS:
        ids |= SCENARIOS[str(route)](aurora).ids
    example = route.contract.input.example if route.contract.input else None

    for person in STRANGERS:
        response = send(house.api_for(borealis, person), route.method, route.address(**ids), example)

        problem = is_problem(response, 404, "not_found")
        assert "permission" not in problem


@pytest.mark.parametrize("route", lists(), ids=str)
def test_a_list_holds_no_strangers_row(aurora, borealis, route: ApiRoute):
    house.token_for(aurora, "alice")
    workload = running(aurora)
    with aurora.scope():
        theirs = [
            workload.pk,
            workload.volume_id,
            *ids_of(aurora).values(),
            *Membership.objects.values_list("pk", flat=True),
        ]
        theirs += [person.pk for person in aurora.people.values()]

    for person in STRANGERS:
        response = house.api_for(borealis, person).get(route.address(), {"limit": 200})

        expected = (404,) if str(route) in OF_THE_PLATFORM else (200, 400, 403)
        assert response.status_code in expected, response.content
        found = response.content.decode()
        assert [one for one in theirs if str(one) not in ("vision", "aurora") and str(one) in found] == []


@pytest.mark.parametrize("route", [one for one in lists() if str(one) not in OF_THE_PLATFORM], ids=str)
def test_a_list_costs_the_same_queries_however_long(aurora, route: ApiRoute):
    client = house.api_for(aurora, "olivia")
    for _ in range(3):
        house.token_for(aurora, "olivia")
    running(aurora)
    for _ in range(3):
        stage.launch(aurora, shape="cpu-4", now=timezone.now())
    client.get(route.address())

    costs = []
    for limit in (1, 200):
        with CaptureQueriesContext(
            connection,
        ) as caught:
            response = client.get(route.address(), {"limit": limit})
        if response.status_code == 400:
            pytest.skip("asks for filters")
        assert response.status_code == 200, response.content
        costs.append(len(caught))

    assert costs[0] == costs[1], caught.captured_queries
