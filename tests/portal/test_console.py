"""The console: open to the platform's own people alone, across organisations, every look recorded."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core import scope
from core.models import AuditEvent
from core.types import PLATFORM_ORGANIZATION_ID
from tenants.enums import PlatformPermission, PlatformRole
from tenants.models import Membership, Organization
from tenants.permissions import platform_permissions_on
from tenants.selectors import organization_ids_of_user
from tenants.selectors.quotas import organization_quotas
from tenants.services import invitations
from tests import governed, house

pytestmark = pytest.mark.django_db

PAGES = (
    "/console/",
    "/console/tenants/borealis",
    "/console/approvals",
    "/console/fleet",
    "/console/clusters",
    "/console/clusters/new",
    "/console/leaks",
)


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


class TestFounding:
    FORM = {"name": "Cygnus", "slug": "cygnus", "currency": "EUR", "time_zone": "Europe/Oslo"}

    def test_a_new_organisation_gets_its_owner_by_invitation(self, aurora, paula):
        client = house.client_for(aurora, "paula")

        founded = client.post("/console/found", self.FORM)
        page = client.post("/console/tenants/cygnus/owner", {"email": "cora@cygnus.example"}).content.decode()

        assert founded.headers["Location"] == "/console/tenants/cygnus"
        [secret] = re.findall(r'data-copy="[^"]*code=([A-Za-z0-9_-]+)"', page)
        cora = invitations.register(secret=secret, full_name="Cora", password=house.PASSWORD, now=timezone.now())
        [organization_id] = organization_ids_of_user(cora.pk)
        with scope.of_organization(organization_id):
            assert Membership.objects.get().role == "owner"
        assert "Nobody owns" not in client.get("/console/tenants/cygnus").content.decode()

    def test_the_platform_gives_no_second_owner(self, aurora, borealis, paula):
        answer = house.client_for(aurora, "paula").post("/console/tenants/borealis/owner", {"email": "x@y.example"})

        assert answer.status_code == 403

    @pytest.mark.parametrize(
        "wrong",
        [
            {"slug": "borealis"},
            {"slug": "api"},
            {"slug": "X"},
            {"currency": "euro"},
            {"time_zone": "Mars"},
            {"name": ""},
        ],
        ids=str,
    )
    def test_says_what_is_wrong(self, aurora, borealis, paula, wrong):
        answer = house.client_for(aurora, "paula").post("/console/found", self.FORM | wrong)

        assert answer.status_code == 400


class TestGoverning:
    def test_a_suspended_organisation_launches_nothing_until_it_is_restored(self, aurora, borealis, paula):
        client = house.client_for(aurora, "paula")

        assert client.post("/console/tenants/borealis/suspend", {"reason": "Unpaid since May."}).status_code == 302
        assert "Unpaid since May." in client.get("/console/tenants/borealis").content.decode()
        assert borealis_now(borealis).standing == "suspended"
        assert client.post("/console/tenants/borealis/restore").status_code == 302

        assert borealis_now(borealis).standing == "good"
        verbs = verbs_of(borealis)
        assert verbs[-2:] == ["organization.suspended", "organization.restored"]

    def test_needs_a_reason(self, aurora, borealis, paula):
        assert house.client_for(aurora, "paula").post("/console/tenants/borealis/suspend").status_code == 400

    def test_sets_what_the_whole_organisation_may_hold(self, aurora, borealis, paula):
        client = house.client_for(aurora, "paula")

        for limit in ("12", "8"):
            form = {"resource": "accelerators", "limit": limit}
            assert client.post("/console/tenants/borealis/quota", form).status_code == 302

        with borealis.scope():
            [quota] = organization_quotas()
        assert (quota.resource, quota.limit) == ("accelerators", 8)

    @pytest.mark.parametrize("role", [PlatformRole.OPERATOR, PlatformRole.AUDITOR])
    def test_is_not_everybodys_there(self, aurora, borealis, role):
        house.platform_person(aurora, "pat", role)

        answer = house.client_for(aurora, "pat").post("/console/tenants/borealis/suspend", {"reason": "No."})

        assert answer.status_code == 403


class TestApprovals:
    def test_the_platform_decides_what_is_asked_of_it(self, aurora, borealis, paula):
        asked = governed.asked(borealis, "charlie", decider="platform")
        client = house.client_for(aurora, "paula")

        assert "The new contract." in client.get("/console/approvals").content.decode()
        answer = client.post(f"/console/approvals/borealis/{asked.pk}/approve", {"comment": "Agreed."})

        assert answer.status_code == 302
        with borealis.scope():
            asked.refresh_from_db()
            event = AuditEvent.objects.get(verb="approval.approved")
        assert asked.state == "approved"
        assert event.actor_id == paula.pk

    def test_what_one_stands_behind_is_shown_without_buttons(self, aurora, borealis, paula):
        """She asked for it while she acted for Charlie."""
        asked = governed.asked(borealis, "charlie", decider="platform", operator_id=paula.pk)
        page = house.client_for(aurora, "paula").get("/console/approvals").content.decode()

        assert "The new contract." in page
        assert "Somebody else decides this" in page
        assert f"approve-{asked.pk}" not in page

    def test_never_what_an_organisation_decides_itself(self, aurora, borealis, paula):
        asked = governed.asked(borealis, "charlie")

        answer = house.client_for(aurora, "paula").post(f"/console/approvals/borealis/{asked.pk}/approve")

        assert answer.status_code == 404


class TestRoles:
    @pytest.mark.parametrize("role", PlatformRole)
    def test_all_three_may_look(self, aurora, borealis, role):
        house.platform_person(aurora, "pat", role)

        assert house.client_for(aurora, "pat").get("/console/").status_code == 200

    def test_a_scoped_token_never_reaches_across(self, aurora, paula):
        actor = house.scoped_actor(aurora, "paula", scopes=("view_workload",))

        assert platform_permissions_on(actor) == frozenset()
        assert PlatformPermission.VIEW_TENANTS in platform_permissions_on(aurora.actor("paula"))


def borealis_now(borealis) -> Organization:
    with borealis.scope():
        return Organization.objects.get(pk=borealis.organization.pk)


def verbs_of(tenant) -> list[str]:
    with tenant.scope():
        return list(AuditEvent.objects.order_by("id").values_list("verb", flat=True))


def _queries(client) -> int:
    with CaptureQueriesContext(connection) as found:
        assert client.get("/console/").status_code == 200
    return len(found)
