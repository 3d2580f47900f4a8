"""The console: open to the platform's own people alone, across organisations, every look recorded."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core import scope
from core.models import AuditEvent
from core.types import PLATFORM_ORGANIZATION_ID
from tenants.enums import PlatformPermission, PlatformRole
from tenants.permissions import platform_permissions_on
from tests import house

pytestmark = pytest.mark.django_db

PAGES = ("/console/", "/console/tenants/borealis")


@pytest.fixture
def paula(aurora):
    """A platform administrator who is a member of aurora and of nothing else."""
    return house.platform_person(aurora, "paula", PlatformRole.ADMIN)


class TestTheDoor:
    @pytest.mark.parametrize("path", PAGES)
    @pytest.mark.parametrize("name", ["olivia", "alice", "billie"])
    def test_nobody_else_learns_that_it_is_there(self, aurora, borealis, path, name):
        assert house.client_for(aurora, name).get(path).status_code == 404

    @pytest.mark.parametrize("path", PAGES)
    def test_a_visitor_is_sent_to_sign_in(self, borealis, path):
        assert house.visitor().get(path).headers["Location"].startswith("/accounts/login/")

    def test_an_unknown_organisation_is_not_found(self, aurora, paula):
        assert house.client_for(aurora, "paula").get("/console/tenants/nowhere").status_code == 404


class TestTenants:
    def test_every_organisation_is_listed_and_searched(self, aurora, borealis, paula):
        client = house.client_for(aurora, "paula")

        everything, found = client.get("/console/"), client.get("/console/", {"q": "bor"})

        assert [b"aurora" in everything.content, b"borealis" in everything.content] == [True, True]
        assert [b"/console/tenants/aurora" in found.content, b"/console/tenants/borealis" in found.content] == [
            False,
            True,
        ]

    def test_one_shows_its_projects_and_people(self, aurora, borealis, paula):
        page = house.client_for(aurora, "paula").get("/console/tenants/borealis").content.decode()

        assert "Drugs" in page
        assert "charlie@borealis.example" in page

    def test_every_look_stands_in_the_platforms_chain(self, aurora, borealis, paula):
        house.client_for(aurora, "paula").get("/console/tenants/borealis")

        with scope.of_platform():
            event = AuditEvent.objects.get(organization_id=PLATFORM_ORGANIZATION_ID, verb="tenant.viewed")
        assert (event.actor_id, event.object_id) == (paula.pk, "/console/tenants/borealis")

    def test_the_list_costs_the_same_for_two_organisations_and_for_ten(self, aurora, borealis, paula):
        client = house.client_for(aurora, "paula")
        client.get("/console/")
        few = _queries(client)
        for number in range(8):
            house.found(f"more-{number}", projects=("one",))

        assert _queries(client) == few


class TestRoles:
    @pytest.mark.parametrize("role", PlatformRole)
    def test_all_three_may_look(self, aurora, borealis, role):
        house.platform_person(aurora, "pat", role)

        assert house.client_for(aurora, "pat").get("/console/").status_code == 200

    def test_a_scoped_token_never_reaches_across(self, aurora, paula):
        actor = house.scoped_actor(aurora, "paula", scopes=("view_workload",))

        assert platform_permissions_on(actor) == frozenset()
        assert PlatformPermission.VIEW_TENANTS in platform_permissions_on(aurora.actor("paula"))


def _queries(client) -> int:
    with CaptureQueriesContext(connection) as found:
        assert client.get("/console/").status_code == 200
    return len(found)
