"""Instants at the ends of the calendar are refused where they are given, and crash no list that is asked by them."""

from __future__ import annotations

import pytest

from tests import house

pytestmark = pytest.mark.django_db
FAR = ("9999-12-31T23:59:59Z", "2200-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "0001-01-01T00:00:00Z")


@pytest.mark.parametrize("instant", FAR)
def test_no_token_ends_there(aurora, instant):
    body = {"name": "far", "expires_at": instant}
    answer = house.api_for(aurora, "olivia").post("/api/v1/tokens", body, content_type="application/json")

    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == ["expires_at"]


def test_the_last_that_is_taken_is_shown_wherever_the_person_is(aurora):
    body = {"name": "far", "expires_at": "2199-12-31T23:59:59Z"}
    api = house.api_for(aurora, "olivia")
    assert api.post("/api/v1/tokens", body, content_type="application/json").status_code == 201

    assert house.client_for(aurora, "olivia").get("/tokens").status_code == 200


@pytest.mark.parametrize("instant", FAR)
def test_no_raise_lasts_until_there(aurora, instant):
    api = house.api_for(aurora, "alice")
    quota = api.get("/api/v1/quotas").json()["results"][0]
    body = {
        "quota": quota["id"],
        "limit": quota["limit"] + 1,
        "justification": "For the benchmark of the encoder.",
        "until": instant,
    }
    answer = api.post("/api/v1/quota-requests", body, content_type="application/json")

    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == ["until"]


@pytest.mark.parametrize("day", ["9999-12-31", "9998-01-01", "2300-01-01"])
def test_nor_by_the_page(aurora, day):
    quota = house.api_for(aurora, "alice").get("/api/v1/quotas").json()["results"][0]
    browser = house.client_for(aurora, "alice")
    form = {"limit": quota["limit"] + 1, "justification": "For the benchmark of the encoder.", "until": day}

    assert browser.post(f"/quotas/{quota['id']}/ask", form).status_code == 400
    assert browser.get("/quotas").status_code == 200


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
@pytest.mark.parametrize("page", ["/audit", "/audit/export", "/usage", "/workspaces"])
def test_pages_asked_from_or_until_there_answer(aurora, page, day):
    browser = house.client_for(aurora, "olivia")

    for name in ("from", "to"):
        assert browser.get(page, {name: day}).status_code in (200, 400, 404)


@pytest.mark.parametrize("instant", FAR)
@pytest.mark.parametrize("path", ["audit-events", "audit-events/export", "usage-sessions", "costs"])
def test_lists_of_the_api_asked_from_or_until_there_answer(aurora, path, instant):
    api = house.api_for(aurora, "olivia")

    for name in ("from", "to"):
        assert api.get(f"/api/v1/{path}", {name: instant}).status_code in (200, 400, 404)


@pytest.mark.parametrize("limit", ["1000.0", "1e3", '"8"', "true"])
def test_a_whole_number_is_written_as_one(aurora, limit):
    api = house.api_for(aurora, "olivia")
    quota = api.get("/api/v1/quotas").json()["results"][0]

    answer = api.put(f"/api/v1/quotas/{quota['id']}", f'{{"limit": {limit}}}', content_type="application/json")

    assert answer.status_code == 400
