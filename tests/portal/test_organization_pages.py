"""The organisation's pages: what they show to whom, errors at their fields, and a constant number of queries."""

from __future__ import annotations

import re

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.errors import Refused
from provisioning.services import launching
from tenants.models import Project
from tenants.services import projects
from tests import house, places
from tests.provisioning import stage
from tests.tenants.test_projects import create

pytestmark = pytest.mark.django_db
LISTS = ("members", "teams", "projects", "service-accounts")


def grow(tenant, begin, end):
    """More of everything that the lists show."""
    for number in range(begin, end):
        house.join(tenant, f"person{number}", "viewer", projects=("vision",))
        places.invited(tenant, f"guest{number}@new.example")
        places.team(tenant, f"team{number}")
        create(tenant, "olivia", f"project{number}")
        places.account(tenant, f"account{number}")


class TestLists:
    @pytest.mark.parametrize("name", LISTS)
    def test_cost_the_same_queries_however_long(self, aurora, name):
        client, costs = house.client_for(aurora, "olivia"), []
        client.get(f"/organization/{name}")
        for begin, end in ((0, 1), (1, 6)):
            grow(aurora, begin, end)
            with CaptureQueriesContext(connection) as caught:
                assert client.get(f"/organization/{name}").status_code == 200
            costs.append(len(caught))

        assert costs[0] == costs[1]

    def test_of_members_are_searched(self, aurora):
        found = house.client_for(aurora, "olivia").get("/organization/members?q=bob").content.decode()

        assert "bob@aurora.example" in found
        assert "victor@aurora.example" not in found

    def test_of_members_show_a_leader_the_people_of_the_project(self, aurora):
        house.join(aurora, "alice", "project_admin", projects=("vision",))

        found = house.client_for(aurora, "alice").get("/organization/members").content.decode()

        assert "bob@aurora.example" in found
        assert "billie@aurora.example" not in found


class TestForms:
    @pytest.mark.parametrize(
        ("path", "form", "words"),
        [
            ("teams/new", {"name": "X", "slug": "api"}, "reserved for the platform"),
            (
                "projects/new",
                {"name": "X", "slug": "vision", "environment": "dev", "data_class": "internal"},
                "There is or was a project vision",
            ),
            ("service-accounts/new", {"name": ""}, "This field is required"),
            ("settings/change", {"name": "X", "time_zone": "Moon/Crater"}, "not one of the available choices"),
        ],
    )
    def test_say_what_is_wrong_where_it_is_and_keep_what_was_typed(self, aurora, path, form, words):
        response = house.client_for(aurora, "olivia").post(f"/organization/{path}", form)

        page = response.content.decode()
        assert response.status_code == 400
        assert words in page
        assert form["name"] == "" or f'value="{form["name"]}"' in page

    def test_of_an_invitation_say_when_the_role_does_not_fit_the_place(self, aurora):
        form = {
            "email": "nora@new.example",
            "place": f"project:{aurora.projects['vision'].pk}",
            "role": "auditor",
        }
        response = house.client_for(aurora, "olivia").post("/organization/invitations", form)

        assert response.status_code == 400
        assert "On a project the roles are" in response.content.decode()

    def test_of_an_invitation_show_the_link_once(self, aurora):
        olivia = house.client_for(aurora, "olivia")
        place = f"project:{aurora.projects['vision'].pk}"
        made = olivia.post("/organization/invitations", {"email": "nora@new.example", "place": place, "role": "viewer"})

        assert "/join?code=" in made.content.decode()
        assert "/join?code=" not in olivia.get("/organization/members").content.decode()


class TestJoin:
    @pytest.fixture(autouse=True)
    def unthrottled(self):
        """What other tests have asked for in this minute counts for none of these."""
        cache.clear()

    def test_takes_the_secret_out_of_the_address_and_into_no_readable_session(self, aurora):
        _, secret = places.invited(aurora)
        visitor = Client()

        response = visitor.get(f"/join?code={secret}")

        assert (response.status_code, response.headers["Location"]) == (302, "/join")
        assert secret not in repr(dict(visitor.session.items()))
        assert b"Join Aurora" in visitor.get("/join").content

    def test_says_the_same_to_every_secret_that_is_no_good(self, aurora):
        _, used = places.invited(aurora, "one@new.example")
        Client().post("/join", {"code": used, "full_name": "One", "password": "a much better pass phrase"})
        pages = []
        for secret in (used, "x" * 43):
            visitor = Client()
            visitor.get(f"/join?code={secret}")
            pages.append(re.sub(r'"X-CSRFToken": "\w+"', "", visitor.get("/join").content.decode()))

        assert pages[0] == pages[1]
        assert "does not hold" in pages[0]

    def test_tells_an_address_with_an_account_to_sign_in_and_then_takes_one_click(self, aurora, borealis):
        _, secret = places.invited(aurora, "charlie@borealis.example", role="viewer")
        visitor = Client()
        visitor.get(f"/join?code={secret}")
        assert b"/accounts/login/?next=%2Fjoin" in visitor.get("/join").content
        refused = visitor.post("/join", {"code": secret, "full_name": "X", "password": "a much better pass phrase"})
        assert refused.status_code == 400

        charlie = house.client_for(borealis, "charlie")
        joined = charlie.post("/join", {"code": secret}, follow=True)

        assert b"Aurora" in joined.content
        assert b"/switch/organization/borealis" in joined.content

    def test_is_throttled(self, db):
        """The throttle counts within spans of the clock: a new one may begin on the way, but not twice."""
        visitor = Client()

        assert any(visitor.get("/join").status_code == 429 for _ in range(122))


def test_a_closed_project_takes_no_launch_and_says_why(aurora):
    stage.open_shop()
    with house.an_act(), aurora.scope():
        projects.close(actor=aurora.actor("olivia"), project_id=aurora.projects["language"].pk, now=timezone.now())
    with pytest.raises(Refused) as refusal, house.an_act(), aurora.scope():
        launching.launch(
            actor=aurora.actor("alice"),
            project=Project.objects.select_related("organization").get(slug="language"),
            spec=stage.spec(),
            now=timezone.now(),
        )

    assert "project_closed" in {reason.code for reason in refusal.value.reasons}
