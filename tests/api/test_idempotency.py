from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from core.locks import _number
from core.models import IdempotencyKey
from tenants.models import AccessToken
from tests import house
from tests.api.ask import is_problem, send

pytestmark = pytest.mark.django_db
TOKENS = "/api/v1/tokens"


@pytest.fixture
def alice(aurora):
    return house.api_for(aurora, "alice")


def tokens_named(tenant, name: str) -> int:
    with tenant.scope():
        return AccessToken.objects.filter(name=name).count()


class TestIdempotency:
    def test_while_the_first_still_runs_the_second_is_told_to_wait(self, aurora, alice):
        words = ("idempotency", str(aurora.organization.pk), str(aurora.people["alice"].pk), "k1")
        parameters = connection.get_connection_params()
        place = {
            name: parameters[name] for name in ("host", "port", "user", "password", "dbname") if name in parameters
        }
        with psycopg.connect(**place) as first:
            first.execute("SELECT pg_advisory_xact_lock(%s)", [_number(words)])

            response = send(alice, "post", TOKENS, {"name": "ci"}, Idempotency_Key="k1")

        is_problem(response, 409, "still_running")
        assert response.headers["Retry-After"] == "1"
        assert tokens_named(aurora, "ci") == 0
        assert send(alice, "post", TOKENS, {"name": "ci"}, Idempotency_Key="k1").status_code == 201

    def test_a_refusal_is_not_stored(self, aurora, alice):
        refused = send(alice, "post", TOKENS, {"name": "ci", "scopes": ["fly"]}, Idempotency_Key="k1")
        mended = send(alice, "post", TOKENS, {"name": "ci"}, Idempotency_Key="k1")

        assert (refused.status_code, mended.status_code) == (400, 201)
        assert "Idempotency-Replayed" not in mended.headers

    def test_keys_of_two_people_are_two_keys(self, aurora, alice):
        bob = house.api_for(aurora, "bob")

        answers = [send(one, "post", TOKENS, {"name": "ci"}, Idempotency_Key="k1") for one in (alice, bob)]

        assert [answer.status_code for answer in answers] == [201, 201]
        assert tokens_named(aurora, "ci") == 2

    def test_after_a_day_the_key_is_new(self, aurora, alice):
        send(alice, "post", TOKENS, {"name": "ci"}, Idempotency_Key="k1")
        with aurora.scope():
            IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(hours=24, seconds=1))

        again = send(alice, "post", TOKENS, {"name": "ci"}, Idempotency_Key="k1")

        assert again.status_code == 201
        assert tokens_named(aurora, "ci") == 2
        with aurora.scope():
            assert IdempotencyKey.objects.count() == 1

    @pytest.mark.parametrize("key", ["", " ", "ü", "x" * 201, "two words"])
    def test_a_key_that_cannot_be_is_400(self, alice, key):
        is_problem(send(alice, "post", TOKENS, {"name": "ci"}, Idempotency_Key=key), 400, "invalid")

    def test_another_query_is_another_request(self, alice):
        send(alice, "post", TOKENS, {"name": "ci"}, Idempotency_Key="k1")

        response = send(alice, "post", f"{TOKENS}?", {"name": "cd"}, Idempotency_Key="k1")

        is_problem(response, 422, "idempotency_key_reused")
