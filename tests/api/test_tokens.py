from __future__ import annotations

import json

import pytest
from django.test import Client

from core.models import AuditEvent, IdempotencyKey
from tests import house

pytestmark = pytest.mark.django_db


def post(client, path, body, **headers):
    return client.post(path, json.dumps(body), content_type="application/json", headers=headers)


class TestTokens:
    def test_a_new_token_shows_its_secret_once_and_works(self, aurora):
        alice = house.api_for(aurora, "alice")

        made = post(alice, "/api/v1/tokens", {"name": "laptop"})

        assert made.status_code == 201, made.content
        secret = made.json()["secret"]
        again = Client(headers={"Authorization": f"Bearer {secret}"})
        listed = again.get("/api/v1/tokens").json()["results"]
        assert [row["name"] for row in listed] == ["laptop", "test"]
        assert not any("secret" in row for row in listed)

    def test_a_revoked_token_is_nobody(self, aurora):
        alice = house.api_for(aurora, "alice")
        made = post(alice, "/api/v1/tokens", {"name": "laptop"}).json()

        gone = alice.delete(f"/api/v1/tokens/{made['id']}")

        assert gone.status_code == 204
        again = Client(headers={"Authorization": f"Bearer {made['secret']}"})
        assert again.get("/api/v1/me").status_code == 401

    def test_a_replayed_answer_is_the_stored_one_without_the_secret(self, aurora):
        alice = house.api_for(aurora, "alice")

        first = post(alice, "/api/v1/tokens", {"name": "ci"}, **{"Idempotency-Key": "one"})
        second = post(alice, "/api/v1/tokens", {"name": "ci"}, **{"Idempotency-Key": "one"})

        assert second.status_code == 201
        assert second.headers["Idempotency-Replayed"] == "true"
        assert second.headers["Location"] == first.headers["Location"]
        assert second.json() == {name: value for name, value in first.json().items() if name != "secret"}
        with aurora.scope():
            assert "secret" not in IdempotencyKey.objects.get().body
            assert AuditEvent.objects.filter(verb="token.created", object_id=first.json()["id"]).count() == 1

    def test_another_request_under_the_same_key_is_refused(self, aurora):
        alice = house.api_for(aurora, "alice")
        post(alice, "/api/v1/tokens", {"name": "ci"}, **{"Idempotency-Key": "one"})

        other = post(alice, "/api/v1/tokens", {"name": "cd"}, **{"Idempotency-Key": "one"})

        assert other.status_code == 422
        assert other.json()["code"] == "idempotency_key_reused"
