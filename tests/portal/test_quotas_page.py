"""The page of quotas: what counts, who may do what there, and no more queries for more of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tenants.models import Approval, Quota
from tests import house
from tests.provisioning import stage
from tests.tenants.quota_stage import GPU, quota, take, team

pytestmark = pytest.mark.django_db


def page(tenant, name):
    response = house.client_for(tenant, name).get("/quotas")
    assert response.status_code == 200
    return response.content.decode()


def row_of(tenant):
    with tenant.scope():
        return Quota.objects.get(project=tenant.projects["vision"], resource=GPU)


class TestThePage:
    def test_shows_every_level_that_counts(self, aurora):
        quota(aurora, aurora.organization, 24)
        quota(aurora, team(aurora, "perception", "vision"), 20)
        quota(aurora, aurora.people["bob"], 4)

        seen = page(aurora, "bob")

        for words in ("Project Vision", "Organisation Aurora", "Team Perception", "You"):
            assert words in seen

    def test_shows_what_is_reserved_and_borrowed(self, aurora):
        quota(aurora, aurora.projects["vision"], 8, borrow_limit=4)
        take(aurora, "vision", 10)

        seen = page(aurora, "bob")

        assert "10 reserved" in seen
        assert "2 borrowed" in seen
        assert "may borrow 4 that others leave unused" in seen

    def test_a_developer_asks_and_an_owner_changes(self, aurora):
        assert "Ask for more" in page(aurora, "bob")
        assert "Set a quota" not in page(aurora, "bob")
        assert "Ask for more" not in page(aurora, "victor")
        assert "Set a quota" in page(aurora, "olivia")

    def test_costs_the_same_queries_however_much_is_held(self, aurora):
        client = house.client_for(aurora, "olivia")
        client.get("/quotas")
        with CaptureQueriesContext(connection) as few:
            client.get("/quotas")
        for number in range(8):
            take(aurora, "vision", 1)
            quota(aurora, aurora.organization, 9, f"accelerators/M{number}")
        with CaptureQueriesContext(connection) as many:
            client.get("/quotas")

        assert len(many) == len(few)

    def test_the_list_of_the_api_costs_the_same_too(self, aurora):
        api = house.api_for(aurora, "olivia")
        api.get("/api/v1/quotas")
        with CaptureQueriesContext(connection) as few:
            api.get("/api/v1/quotas?limit=2")
        for _ in range(8):
            take(aurora, "vision", 1)
        with CaptureQueriesContext(connection) as many:
            api.get("/api/v1/quotas?limit=50")

        assert len(many) == len(few)


class TestItsForms:
    def test_a_request_is_stored_with_its_end_and_shown(self, aurora):
        day = (timezone.now() + timedelta(days=20)).date().isoformat()
        form = {"limit": "16", "justification": "The benchmark of the new encoder.", "until": day}

        response = house.client_for(aurora, "bob").post(f"/quotas/{row_of(aurora).pk}/ask", form)

        assert response.status_code == 302
        with aurora.scope():
            assert (
                Approval.objects.get()
                .payload["until"]
                .startswith((timezone.now() + timedelta(days=21)).date().isoformat())
            )
        assert "The benchmark of the new encoder." in page(aurora, "bob")
        assert "Decide what waits for you" in page(aurora, "olivia")

    @pytest.mark.parametrize(
        "form",
        [
            {"limit": "16", "justification": "short"},
            {"limit": "x", "justification": "The benchmark of the new encoder."},
            {"limit": "16", "justification": "The benchmark of the new encoder.", "until": "soon"},
        ],
    )
    def test_what_cannot_be_meant_is_said_and_nothing_is_asked(self, aurora, form):
        response = house.client_for(aurora, "bob").post(f"/quotas/{row_of(aurora).pk}/ask", form)

        assert response.status_code == 400
        with aurora.scope():
            assert not Approval.objects.exists()

    def test_an_owner_lets_a_project_borrow(self, aurora):
        row = row_of(aurora)
        form = {"limit": "8", "borrow_limit": "4", "lend_limit": ""}

        assert house.client_for(aurora, "olivia").post(f"/quotas/{row.pk}/limit", form).status_code == 302

        after = row_of(aurora)
        assert (after.limit, after.borrow_limit, after.lend_limit) == (8, 4, None)

    def test_the_launch_panel_names_the_level_that_binds_sooner(self, aurora):
        stage.open_shop()
        quota(aurora, aurora.organization, 2)

        form = {"project": "vision", "shape": "h100-4", "image": "jupyterlab", "kind": "workspace", "disk_gib": "10"}
        seen = house.client_for(aurora, "alice").get("/launch", form).content.decode()

        assert "H100, organisation" in seen
        assert "Organisation aurora: 2 H100 GPUs over (0 used + 4 asked &gt; 2)" in seen
