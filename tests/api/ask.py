"""How the API's tests ask."""

from __future__ import annotations

import json

from django.test import Client

UNKNOWN = "0199aa00-0000-7000-8000-00000000dead"


def send(client: Client, method: str, path: str, body: object = None, **headers: str):
    """A JSON request; headers by name with underscores for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    data, media = ("", "") if body is None else (json.dumps(body), "application/json")
    return client.generic(method.upper(), path, data, media, headers=named)


def is_problem(response, status: int, code: str):
    """Assert an RFC 9457 document, whole, and give it."""
    assert response.status_code == status, response.content
    assert response.headers["Content-Type"] == "application/problem+json"
    body = response.json()
    assert {"type", "title", "status", "detail", "code", "instance"} <= body.keys()
    assert body["status"] == status
    assert body["code"] == code
    assert response.headers["X-Request-Id"] in body["instance"]
    return body
