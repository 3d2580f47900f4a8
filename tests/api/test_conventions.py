"""What the contract of the API promises, row by row."""

from __future__ import annotations

import orjson
import pytest
from django.test import Client
from django.utils import timezone

from core.models import AuditEvent
from portal.api.documentation import document
from tenants.models import Quota
from tenants.services import memberships
from tests import house
from tests.api.ask import UNKNOWN, is_problem, send

pytestmark = pytest.mark.django_db
TOKENS = "/api/v1/tokens"


@pytest.fixture
def alice(aurora):
    return house.api_for(aurora, "alice")


class TestCredentials:
    def test_no_token_is_401_and_says_how(self, db):
        response = Client().get("/api/v1/me")

        is_problem(response, 401, "not_authenticated")
        assert response.headers["WWW-Authenticate"] == 'Bearer realm="steelyard"'

    @pytest.mark.parametrize("header", ["Bearer sty_wrong", "Bearer ", "Basic YTpi", "Bearer \x00", "nonsense"])
    def test_a_wrong_token_is_401_for_every_address_that_exists(self, db, header):
        for path in ("/api/v1/me", f"/api/v1/organizations/{UNKNOWN}", f"/api/v1/projects/{UNKNOWN}"):
            response = Client(headers={"Authorization": header}).get(path)

            is_problem(response, 401, "invalid_token")
            assert 'error="invalid_token"' in response.headers["WWW-Authenticate"]

    def test_a_session_reads(self, aurora):
        assert house.client_for(aurora, "alice").get("/api/v1/me").status_code == 200

    def test_a_session_without_csrf_token_does_not_write(self, aurora):
        client = Client(enforce_csrf_checks=True)
        client.force_login(aurora.people["alice"], backend="allauth.account.auth_backends.AuthenticationBackend")

        response = send(client, "post", TOKENS, {"name": "stolen"})

        is_problem(response, 403, "csrf_failed")

    def test_a_session_with_csrf_token_writes(self, aurora):
        client = Client(enforce_csrf_checks=True)
        client.force_login(aurora.people["alice"], backend="allauth.account.auth_backends.AuthenticationBackend")
        client.cookies["csrftoken"] = "a" * 32

        response = send(client, "post", TOKENS, {"name": "mine"}, X_CSRFToken="a" * 32)

        assert response.status_code == 201, response.content

    def test_a_token_needs_no_csrf_token(self, aurora):
        client = Client(
            enforce_csrf_checks=True, headers={"Authorization": f"Bearer {house.token_for(aurora, 'alice')}"}
        )

        assert send(client, "post", TOKENS, {"name": "mine"}).status_code == 201

    def test_what_a_token_may_is_narrowed_by_its_scopes(self, aurora):
        secret = house.token_for(aurora, "olivia", scopes=("view_project",))
        client = Client(headers={"Authorization": f"Bearer {secret}"})

        assert client.get("/api/v1/quotas").json()["results"] == []
        assert [row["slug"] for row in client.get("/api/v1/projects").json()["results"]] == ["language", "vision"]


class TestProblems:
    def test_an_unknown_address_is_a_problem_document(self, alice):
        for path in ("/api/v1/nothing", "/api/", "/api/v2/me", "/api/v1/tokens/", "/api/v1/projects/not-an-id"):
            is_problem(alice.get(path), 404, "not_found")

    def test_another_method_is_405_with_allow(self, alice):
        response = send(alice, "delete", TOKENS)

        is_problem(response, 405, "method_not_allowed")
        assert response.headers["Allow"] == "GET, HEAD, POST"

    @pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PATCH", "QUERY"])
    def test_a_method_nobody_declared_is_405(self, alice, method):
        is_problem(alice.generic(method, TOKENS), 405, "method_not_allowed")

    def test_a_form_that_is_not_served_is_406(self, alice):
        is_problem(alice.get(TOKENS, headers={"Accept": "text/csv"}), 406, "not_acceptable")

    def test_a_body_that_is_not_json_is_415(self, alice):
        response = alice.post(TOKENS, "name=x", content_type="application/x-www-form-urlencoded")

        is_problem(response, 415, "unsupported_media_type")

    def test_a_body_over_the_limit_is_413(self, alice, settings):
        settings.API_BODY_LIMIT_BYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000

        is_problem(send(alice, "post", TOKENS, {"name": "x" * 1000}), 413, "body_too_large")

    @pytest.mark.parametrize(
        "raw",
        [
            b"",
            b"{",
            b"[]",
            b'"text"',
            b"null",
            b'{"name": "a", "name": "b"}',
            b'{"name": NaN}',
            b'{"name": "\xff"}',
            b'{"name": "\\u0000"}',
            b'{"name": "\\ud800"}',
            b'{"name": 1e999999999999999999999}',
            b"[" * 100_000,
            b'\xef\xbb\xbf{"name": "bom"}',
        ],
    )
    def test_a_malformed_body_is_400(self, alice, raw):
        response = alice.post(TOKENS, raw, content_type="application/json")

        assert response.status_code == 400, response.content
        assert response.headers["Content-Type"] == "application/problem+json"

    @pytest.mark.parametrize(
        ("body", "field", "code"),
        [
            ({"name": "a", "colour": "red"}, "colour", "unknown_field"),
            ({}, "name", "required"),
            ({"name": 5}, "name", "invalid"),
            ({"name": True}, "name", "invalid"),
            ({"name": None}, "name", "null"),
            ({"name": ""}, "name", "blank"),
            ({"name": "x" * 81}, "name", "max_length"),
            ({"name": "a", "scopes": "all"}, "scopes", "not_a_list"),
            ({"name": "a", "scopes": [1]}, "scopes.0", "invalid"),
            ({"name": "a", "scopes": ["fly"]}, "scopes", "unknown_scope"),
            ({"name": "a", "expires_at": "2020-01-01T00:00:00Z"}, "expires_at", "past"),
            ({"name": "a", "expires_at": "2099-01-01T00:00:00"}, "expires_at", "no_zone"),
            ({"name": "a", "expires_at": "0001-01-01T00:00:00+23:00"}, "expires_at", "overflow"),
            ({"name": "a", "expires_at": 5}, "expires_at", "invalid"),
        ],
    )
    def test_what_cannot_be_meant_names_its_field(self, alice, body, field, code):
        problem = is_problem(send(alice, "post", TOKENS, body), 400, "invalid")

        assert [(found["field"], found["code"]) for found in problem["errors"]] == [(field, code)]

    def test_an_act_without_a_body_refuses_one(self, alice):
        made = send(alice, "post", TOKENS, {"name": "a"}).json()

        is_problem(send(alice, "delete", f"{TOKENS}/{made['id']}", {"force": True}), 400, "invalid")

    def test_a_delete_that_asks_for_a_word_says_so_in_the_description(self):
        closing = orjson.loads(document())["paths"]["/api/v1/organizations/{organization_id}"]["delete"]

        asked = closing["requestBody"]["content"]["application/json"]
        assert (closing["requestBody"]["required"], asked["example"]) == (True, {"slug": "northwind"})
        assert asked["schema"]["$ref"].endswith("/ClosingInput")

    def test_a_missing_permission_is_named(self, aurora):
        quota = _quota(aurora)

        response = send(house.api_for(aurora, "alice"), "put", f"/api/v1/quotas/{quota.pk}", {"limit": 99})

        assert is_problem(response, 403, "permission_denied")["permission"] == "manage_quota"

    def test_a_crash_is_a_problem_document_that_tells_nothing(self, alice, monkeypatch):
        def fail(*_args, **_kwargs):
            raise ZeroDivisionError("secret detail")

        monkeypatch.setattr("tenants.api.tokens.tokens_of", fail)

        response = alice.get(TOKENS)

        is_problem(response, 500, "crashed")
        assert b"secret detail" not in response.content


class TestQuery:
    @pytest.mark.parametrize(
        "query",
        [
            "colour=red",
            "limit=0",
            "limit=201",
            "limit=ten",
            "limit=-1",
            "limit=١",
            "limit=5&limit=6",
            "cursor=abc",
            "cursor=",
            "cursor=" + "A" * 23,
            "cursor=%00",
        ],
    )
    def test_a_query_that_cannot_be_meant_is_400(self, alice, query):
        is_problem(alice.get(f"{TOKENS}?{query}"), 400, "invalid")

    def test_a_query_on_an_object_is_400(self, alice):
        is_problem(alice.get("/api/v1/me?fields=email"), 400, "invalid")

    @pytest.mark.parametrize(
        "query", ["actor=x", "outcome=well", "from=yesterday", "to=2026-01-01T00:00:00", "verb=%00", "verb=" + "x" * 81]
    )
    def test_a_filter_checks_its_value(self, aurora, query):
        is_problem(house.api_for(aurora, "olivia").get(f"/api/v1/audit-events?{query}"), 400, "invalid")


class TestPages:
    def test_pages_forward_and_back_give_every_row_once(self, alice):
        for number in range(6):
            send(alice, "post", TOKENS, {"name": f"token-{number}"})

        pages, address = [], f"{TOKENS}?limit=3"
        while address:
            body = alice.get(address).json()
            pages.append([row["name"] for row in body["results"]])
            last, address = body, body["next"]
        back = alice.get(last["previous"]).json()

        assert pages == [["token-5", "token-4", "token-3"], ["token-2", "token-1", "token-0"], ["test"]]
        assert [row["name"] for row in back["results"]] == pages[1]
        assert back["next"]
        first = alice.get(back["previous"]).json()
        assert [row["name"] for row in first["results"]] == pages[0]
        assert first["previous"] is None

    def test_a_row_made_meanwhile_shifts_nothing(self, alice):
        for number in range(4):
            send(alice, "post", TOKENS, {"name": f"token-{number}"})
        following = alice.get(f"{TOKENS}?limit=2").json()["next"]
        send(alice, "post", TOKENS, {"name": "newcomer"})

        names = [row["name"] for row in alice.get(following).json()["results"]]

        assert names == ["token-1", "token-0"]

    @pytest.mark.parametrize("query", ["limit=AAA", "limit=0", "cursor=AAA", "cursor=" + "b" * 23])
    def test_a_list_that_is_not_of_rows_checks_its_page_too(self, alice, query):
        is_problem(alice.get(f"/api/v1/roles?{query}"), 400, "invalid")

    def test_a_list_that_is_not_of_rows_pages_too(self, alice):
        whole = [row["name"] for row in alice.get("/api/v1/roles").json()["results"]]

        pages, address = [], "/api/v1/roles?limit=3"
        while address:
            body = alice.get(address).json()
            pages.append([row["name"] for row in body["results"]])
            last, address = body, body["next"]

        assert [name for page in pages for name in page] == whole
        assert [row["name"] for row in alice.get(last["previous"]).json()["results"]] == pages[-2]

    def test_filters_stay_in_the_addresses_of_pages(self, aurora):
        following = house.api_for(aurora, "olivia").get("/api/v1/quotas?project=aurora/vision&limit=2").json()["next"]

        assert "project=aurora%2Fvision" in following


class TestVersions:
    def test_an_unchanged_object_is_304(self, aurora):
        quota, olivia = _quota(aurora), house.api_for(aurora, "olivia")
        first = olivia.get(f"/api/v1/quotas/{quota.pk}")

        second = send(olivia, "get", f"/api/v1/quotas/{quota.pk}", If_None_Match=first.headers["ETag"])

        assert (second.status_code, second.content) == (304, b"")
        assert second.headers["ETag"] == first.headers["ETag"]

    def test_a_stale_write_is_412_and_changes_nothing(self, aurora):
        quota, olivia = _quota(aurora), house.api_for(aurora, "olivia")
        tag = olivia.get(f"/api/v1/quotas/{quota.pk}").headers["ETag"]
        changed = send(olivia, "put", f"/api/v1/quotas/{quota.pk}", {"limit": 11}, If_Match=tag)

        stale = send(olivia, "put", f"/api/v1/quotas/{quota.pk}", {"limit": 12}, If_Match=tag)

        assert changed.json()["limit"] == 11
        is_problem(stale, 412, "stale")
        assert olivia.get(f"/api/v1/quotas/{quota.pk}").json()["limit"] == 11

    @pytest.mark.parametrize("tag", ['W/"1"', "1", '"x"', '""'])
    def test_a_tag_that_no_row_has_is_stale(self, aurora, tag):
        quota, olivia = _quota(aurora), house.api_for(aurora, "olivia")

        is_problem(send(olivia, "put", f"/api/v1/quotas/{quota.pk}", {"limit": 11}, If_Match=tag), 412, "stale")


class TestLimits:
    def test_every_answer_tells_what_is_left(self, alice, settings, monkeypatch):
        monkeypatch.setattr("core.api.limits.time.time", lambda: 1_800_000_030.0)
        settings.API_RATE_LIMIT_PER_MINUTE = 3

        answers = [alice.get("/api/v1/me") for _ in range(4)]

        assert [answer.headers["RateLimit-Remaining"] for answer in answers] == ["2", "1", "0", "0"]
        is_problem(answers[3], 429, "too_many_requests")
        assert answers[3].headers["Retry-After"] == "31"

    def test_one_actor_does_not_use_up_anothers(self, aurora, settings):
        settings.API_RATE_LIMIT_PER_MINUTE = 2
        for _ in range(5):
            house.api_for(aurora, "alice").get("/api/v1/me")

        assert house.api_for(aurora, "bob").get("/api/v1/me").status_code == 200

    def test_a_broken_redis_limits_nobody(self, alice, settings):
        settings.CACHES = {"default": {"LOCATION": "redis://127.0.0.1:1/0"}}

        response = alice.get("/api/v1/me")

        assert response.status_code == 200
        assert "RateLimit-Limit" not in response.headers


class TestAuditEvents:
    def test_an_owner_reads_what_was_done_and_what_was_denied(self, aurora):
        quota = _quota(aurora)
        send(house.api_for(aurora, "alice"), "put", f"/api/v1/quotas/{quota.pk}", {"limit": 99})
        olivia = house.api_for(aurora, "olivia")
        send(olivia, "put", f"/api/v1/quotas/{quota.pk}", {"limit": 11})

        found = olivia.get(f"/api/v1/audit-events?object={quota.pk}&verb=quota.limit_set").json()["results"]

        assert [(row["outcome"], row["actor"]["id"], row["after"]) for row in found] == [
            ("done", str(aurora.people["olivia"].pk), {"limit": 11})
        ]
        denied = olivia.get("/api/v1/audit-events?outcome=denied&verb=quota.limit_set").json()["results"]
        assert [row["actor"]["id"] for row in denied] == [str(aurora.people["alice"].pk)]
        assert denied[0]["reason"]["code"] == "permission_denied"

    def test_from_is_included_and_to_is_not(self, aurora):
        olivia = house.api_for(aurora, "olivia")
        at = olivia.get("/api/v1/audit-events?verb=organization.founded").json()["results"][0]["at"]

        upto = olivia.get("/api/v1/audit-events", {"to": at, "verb": "organization.founded"}).json()["results"]
        since = olivia.get("/api/v1/audit-events", {"from": at, "verb": "organization.founded"}).json()["results"]

        assert (len(upto), len(since)) == (0, 1)

    def test_others_are_told_which_permission_is_missing(self, alice):
        assert is_problem(alice.get("/api/v1/audit-events"), 403, "permission_denied")["permission"] == "view_audit"

    def test_no_event_of_another_organisation_is_listed(self, aurora, borealis):
        events = house.api_for(borealis, "boris").get("/api/v1/audit-events?limit=200").json()["results"]

        with aurora.scope():
            theirs = {str(pk) for pk in AuditEvent.objects.values_list("pk", flat=True)}
        assert events
        assert not theirs & {row["id"] for row in events}


class TestMe:
    def test_it_tells_permissions_in_each_place(self, aurora):
        body = house.api_for(aurora, "bob").get("/api/v1/me").json()

        assert body["person"]["email"] == "bob@aurora.example"
        assert [row["slug"] for row in body["organizations"]] == ["aurora"]
        assert [(row["slug"], "launch_workload" in row["permissions"]) for row in body["projects"]] == [
            ("vision", True)
        ]

    def test_a_session_sees_all_ones_organisations_a_token_its_own(self, aurora, borealis):
        bob = aurora.people["bob"]
        with house.an_act(), borealis.scope():
            memberships.grant(
                actor=house.SYSTEM,
                organization=borealis.organization,
                user=bob,
                role="auditor",
                project=None,
                now=timezone.now(),
            )

        by_session = house.client_for(aurora, "bob").get("/api/v1/me").json()
        by_token = house.api_for(aurora, "bob").get("/api/v1/me").json()
        listed = house.client_for(aurora, "bob").get("/api/v1/organizations").json()

        assert [(row["slug"], row["active"]) for row in by_session["organizations"]] == [
            ("aurora", True),
            ("borealis", False),
        ]
        assert "view_audit" in by_session["organizations"][1]["permissions"]
        assert [row["slug"] for row in by_session["projects"]] == ["vision", "drugs"]
        assert [row["slug"] for row in by_token["organizations"]] == ["aurora"]
        assert {row["slug"] for row in listed["results"]} == {"aurora", "borealis"}


def _quota(tenant) -> Quota:
    with tenant.scope():
        return Quota.objects.get(project=tenant.projects["vision"], resource="workloads")
