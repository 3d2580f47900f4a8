"""Asking a route in this process, through the whole of the middleware, as one that speaks HTTP would."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.core.handlers.base import BaseHandler
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from portal.isolation.routes import Address
from portal.isolation.words import Reply

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TOKEN_OF_FORMS = "steelyardprovesthatrowsarekeptap"  # 32 letters, as Django's are; cookie and form agree on it
_LONGEST_WAIT = 61
_FORM = "application/x-www-form-urlencoded"

FORMS: Mapping[str, Mapping[str, str]] = {
    "/quotas/<uuid:quota_id>/limit": {"limit": "12"},
    "/quotas/<uuid:quota_id>/ask": {"limit": "99999", "justification": "The benchmark of the new encoder."},
}
"""Pages that read their form before they look for the object: one that they understand."""


@dataclass(frozen=True)
class Credentials:
    """What a caller shows: a session's key on pages, a token to the API; a visitor shows nothing."""

    session_key: str = ""
    token: str = field(default="", repr=False)


class Asker:
    """One handler for the whole proof. `telling`: ids of rows that no stranger may read in an answer.

    Answers are read and not closed: at the end of a request Django gives its connection back, and with it would go the
    transaction that undoes the proof.
    """

    def __init__(self, telling: frozenset[str]) -> None:
        self._telling = telling
        self._handler = BaseHandler()
        self._handler.load_middleware()
        self._origin = urlsplit(str(settings.STEELYARD["PORTAL_ORIGIN"]))

    def ask(self, address: Address, path: str, shown: Credentials) -> Reply:
        response = self._answer(address, path, shown)
        if response.status_code == 429:  # the API counts requests by the minute; the proof keeps to it
            time.sleep(min(int(response.headers.get("Retry-After", "1")), _LONGEST_WAIT))
            response = self._answer(address, path, shown)
        location, challenge = response.headers.get("Location", ""), response.headers.get("WWW-Authenticate", "")
        try:
            body = _whole(response) + location
        except Exception as error:  # a stream that breaks midway is an answer too: a wrong one
            return Reply(response.status_code, location, challenge, (), crashed=type(error).__name__)
        told = {word for word in _UUID.findall(body) if word in self._telling and word not in path}
        return Reply(response.status_code, location, challenge, tuple(sorted(told)))

    def _answer(self, address: Address, path: str, shown: Credentials) -> HttpResponseBase:
        return self._handler.get_response(WSGIRequest(self._environ(address, path, shown)))

    def _environ(self, address: Address, path: str, shown: Credentials) -> dict[str, object]:
        body, media = _body(address)
        host = self._origin.netloc
        cookies = f"{settings.CSRF_COOKIE_NAME}={_TOKEN_OF_FORMS}"
        if shown.session_key and not address.is_api:
            cookies += f"; {settings.SESSION_COOKIE_NAME}={shown.session_key}"
        found: dict[str, object] = {
            "REQUEST_METHOD": address.method.upper(),
            "PATH_INFO": path,
            "QUERY_STRING": "",
            "SCRIPT_NAME": "",
            "SERVER_NAME": self._origin.hostname or "localhost",
            "SERVER_PORT": str(self._origin.port or (443 if self._origin.scheme == "https" else 80)),
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": host,
            "HTTP_ORIGIN": f"{self._origin.scheme}://{host}",
            "HTTP_COOKIE": cookies,
            "HTTP_X_CSRFTOKEN": _TOKEN_OF_FORMS,
            "HTTP_X_FORWARDED_PROTO": self._origin.scheme,
            "CONTENT_TYPE": media,
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.url_scheme": self._origin.scheme,
            "wsgi.input": BytesIO(body),
            "wsgi.errors": BytesIO(),
            "wsgi.version": (1, 0),
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        if shown.token and address.is_api:
            found["HTTP_AUTHORIZATION"] = f"Bearer {shown.token}"
        return found


def _body(address: Address) -> tuple[bytes, str]:
    if address.reads:
        return b"", ""
    if not address.is_api:
        return urlencode(FORMS.get(address.path, {})).encode(), _FORM
    example: Mapping[str, object] | None = address.example
    return (b"", "") if example is None else (json.dumps(example).encode(), "application/json")


def _whole(response: HttpResponseBase) -> str:
    """What is told, also where it is told piece by piece."""
    pieces = iter(response) if isinstance(response, HttpResponse | StreamingHttpResponse) else iter(())
    return b"".join(pieces).decode(errors="replace")
