"""Every list, of pages and API, costs the same number of queries however much there is to show."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tenants.enums import PlatformRole
from tenants.services import policies, quotas, tokens
from tests import governed, house, places, proof
from tests.isolation import walk
from tests.provisioning import stage

pytestmark = pytest.mark.django_db
LISTS = [one for one in walk.reads() if not one.parameters]
WARM_UP = 2
"""What is read once for all (content types, the month's row) is there before anything is counted."""


def grow(tenant: house.Tenant, number: int) -> None:
    """One more of everything that a list may show."""
    word = f"more-{number}"
    now = timezone.now()
    house.join(tenant, word, "viewer", projects=("vision",))
    team = places.team(tenant, word)
    places.invited(tenant, f"{word}@new.example")
    places.account(tenant, word)
    governed.asked(tenant)
    proof.saved_view(tenant, name=word)
    proof.stream(tenant, name=word)
    draft = policies.Draft(word, word, "approval_above", {"accelerators": 60 + number}, "observe")
    olivia = tenant.actor("olivia")
    with acting(tenant):
        policies.create(actor=olivia, organization=tenant.organization, draft=draft, now=now)
    with acting(tenant):
        quotas.define_one(actor=olivia, place=team, resource="vcpus", terms=quotas.Terms(8), now=now)
    for name in ("olivia", "alice"):
        with acting(tenant):
            tokens.create(
                actor=tenant.actor(name),
                organization=tenant.organization,
                name=word,
                scopes=(),
                expires_at=None,
                now=now,
            )
    stage.launch(tenant, shape="cpu-4", now=now)


@contextmanager
def acting(tenant: house.Tenant):
    with house.an_act(), tenant.scope():
        yield


def counted(client, path: str) -> int:
    with CaptureQueriesContext(connection) as found:
        response = client.get(path)
    assert response.status_code in (200, 302, 404), (path, response.status_code)
    return len(found)


def test_every_list_costs_the_same_for_much_as_for_little(aurora):
    stage.open_shop(h100=64)
    house.platform_person(aurora, "paula", PlatformRole.ADMIN, role="admin")
    clients = {True: house.api_for(aurora, "olivia"), False: house.client_for(aurora, "olivia")}
    console = house.client_for(aurora, "paula")
    askers = {one: console if one.path.startswith("/console") else clients[one.is_api] for one in LISTS}
    for number in range(2):
        grow(aurora, number)
    for _ in range(WARM_UP):
        for one, client in askers.items():
            client.get(one.path)

    few = {one.path: counted(client, one.path) for one, client in askers.items()}
    for number in range(2, 5):
        grow(aurora, number)
    many = {one.path: counted(client, one.path) for one, client in askers.items()}

    grown = {path: (few[path], many[path]) for path in few if many[path] > few[path]}
    assert grown == {}
