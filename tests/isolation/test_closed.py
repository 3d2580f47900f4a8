"""Every write of the URL map in an organisation that is closed: refused, and nothing in it changes."""

from __future__ import annotations

import pytest

from core.routes import ANONYMOUS
from portal.isolation.routes import Address
from portal.middleware.closed import STILL_TAKEN
from tenants.enums import PlatformPermission, PlatformRole
from tests import house
from tests.isolation import walk
from tests.isolation.web_role import owner_login
from tests.isolation.world import rows_of

BESIDE = {"core.AuditEvent", "core.AuditChain", "tenants.AccessToken"}
"""Refusals are chained, and a token knows when it was last used."""


def is_about_it(one: Address) -> bool:
    """Not the platform's own things, nor what a visitor begins, which names no organisation that one acts in."""
    permission = one.route.permission
    if permission == ANONYMOUS or one.route.verb in STILL_TAKEN:
        return False
    return permission not in PlatformPermission.values or one.path.startswith("/console/tenants/<slug:slug>")


WRITES = [pytest.param(one, id=str(one)) for one in walk.writes() if is_about_it(one)]


@pytest.fixture(scope="module")
def callers(world):
    house.platform_person(world.borealis, "paula", PlatformRole.ADMIN)
    found = {
        name: {True: house.api_for(tenant, name), False: house.client_for(tenant, name)}
        for name, tenant in {"olivia": world.aurora, "alice": world.aurora, "paula": world.borealis}.items()
    }
    with owner_login().connect() as owner:
        owner.execute("SET session_replication_role = replica")
        key = world.aurora.organization.pk
        owner.execute("UPDATE tenants_organization SET standing = 'closed', closed_at = now() WHERE id = %s", [key])
    return found


@pytest.fixture(scope="module")
def before(world, callers):
    return kept(world)


def kept(world) -> dict[str, str]:
    return {label: rows for label, rows in rows_of(world.aurora).items() if label not in BESIDE}


@pytest.mark.parametrize("one", WRITES)
def test_a_closed_organisation_takes_no_write(world, callers, before, one):
    people = ("paula",) if one.route.permission in PlatformPermission.values else ("olivia", "alice")

    answers = [walk.ask(callers[person][one.is_api], one, world.aurora, world.ids["aurora"]) for person in people]

    assert [answer.status_code for answer in answers] == [409] * len(people)
    assert all("is closed" in answer.content.decode() for answer in answers)
    assert kept(world) == before


def test_one_still_looks_around_and_ends_what_one_holds(world, callers):
    pages, api = callers["alice"][False], callers["alice"][True]

    assert pages.get("/usage").status_code == 200
    assert pages.post("/switch/organization/aurora").status_code == 302
    assert pages.post("/switch/project/language").status_code == 302
    assert api.delete(f"/api/v1/tokens/{world.ids['aurora']['token_id']}").status_code == 204
    assert pages.post("/accounts/logout/").status_code == 302
