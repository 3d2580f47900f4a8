"""The one way to an API server: the official client's transport, plain JSON in and out, one kind of error.

Every call has a deadline and is made once: the reconciler repeats. Redirects are not followed, proxies of the
environment are not asked, and no secret stays on a disk.
"""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import orjson
import urllib3
from kubernetes.client.api_client import ApiClient
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException

from core.outgoing import NotReached
from provisioning.drivers.base import DriverUnavailable, Unauthorized
from provisioning.drivers.kubernetes.guard import guarded_pools
from provisioning.drivers.kubernetes.reading import Json, part, rows, text
from provisioning.drivers.places import Connection

FIELD_MANAGER: Final = "steelyard"
CONNECT_S: Final = 2.0
LISTED_S: Final = 20.0
PAGE: Final = 500
_KEPT: Final = 64
_SOCKETS: Final = 16
_PIECE: Final = 65_536
_LONGEST_REFUSAL: Final = 4096
_CERTIFICATE: Final = re.compile(r"certificate verify failed: (.+?)\.? \(_ssl")
_APPLY, _MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
_PLAIN: Final = "application/json, */*"
_OUTLINES: Final = f"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, {_PLAIN}"


class Forbidden(DriverUnavailable):
    """The API server knows us and does not let us. The sentence names the right that is missing."""


class Refused(Exception):
    """The API server understood and said no. `reason` is its word (AlreadyExists, Invalid, …)."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


@dataclass(frozen=True, slots=True)
class Api:
    """Paths begin with a slash and are relative to the server. Raises DriverUnavailable, Forbidden or Refused."""

    connection: Connection = field(repr=False)

    def get(self, path: str, **query: str) -> Json | None:
        """None where there is no such thing."""
        with _Absence():
            return _parsed(self._call("GET", path, query))
        return None

    def list(self, path: str, **query: str) -> list[Json]:
        """All pages. A kind that the cluster does not know has no items."""
        return [item for page in self._pages(path, query) for item in rows(page, "items")]

    def outlines(self, path: str, **query: str) -> Iterator[Json]:
        """The same, page by page, of each item its metadata alone: a fraction of the bytes."""
        for page in self._pages(path, query, _OUTLINES, LISTED_S):
            yield from rows(page, "items")

    def text(self, path: str, query: Mapping[str, str], *, seconds: float | None = None) -> str | None:
        with _Absence():
            return self._call("GET", path, query, seconds=seconds).decode(errors="replace")
        return None

    def apply(self, path: str, manifest: Mapping[str, object], **query: str) -> Json:
        """Server-side apply as our field manager: what is ours becomes so, what is others' stays."""
        asked = {"fieldManager": FIELD_MANAGER, "force": "true", "fieldValidation": "Strict"} | query
        return _parsed(self._call("PATCH", path, asked, manifest, _APPLY)) or {}

    def create(self, path: str, manifest: Mapping[str, object], **query: str) -> Json:
        asked = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"} | query
        return _parsed(self._call("POST", path, asked, manifest)) or {}

    def merge(self, path: str, change: Mapping[str, object], *, manager: str = FIELD_MANAGER) -> Json | None:
        """A merge patch. With metadata.resourceVersion in it: Refused with 409 where somebody was faster."""
        with _Absence():
            return _parsed(self._call("PATCH", path, {"fieldManager": manager}, change, _MERGE))
        return None

    def delete(self, path: str, **options: object) -> bool:
        """False where there was no such thing. What depends on it goes in the background."""
        with _Absence():
            self._call("DELETE", path, {}, {"propagationPolicy": "Background"} | options)
            return True
        return False

    def events(self, path: str, *, silent_s: float, **query: str) -> Iterator[Json]:
        """A watch: each event as it comes, until the server ends it. `silent_s`: how long it may say nothing."""
        pools: urllib3.PoolManager = api_client(self.connection).rest_client.pool_manager
        patience = urllib3.Timeout(connect=CONNECT_S, read=silent_s)
        url = self._address(path, {"watch": "true"} | query)
        with self._answering():
            answer = pools.request(
                "GET", url, headers=self._headers(), preload_content=False, redirect=False, timeout=patience
            )
        try:
            if answer.status != 200:
                with self._answering():
                    raise _refusal(self.connection.server, answer.status, answer.read(_LONGEST_REFUSAL))
            yield from self._lines(answer)
        finally:
            answer.close()

    def _lines(self, answer: urllib3.BaseHTTPResponse) -> Iterator[Json]:
        left = b""
        pieces = answer.stream(_PIECE)
        while True:
            with self._answering():
                piece = next(pieces, None)
            if piece is None:
                return
            *whole, left = (left + piece).split(b"\n")
            for line in whole:
                if line.strip() and (event := _parsed(line)) is not None:
                    yield event

    def _pages(
        self, path: str, query: Mapping[str, str], accept: str = _PLAIN, seconds: float | None = None
    ) -> Iterator[Json]:
        asked = {"limit": str(PAGE)} | dict(query)
        while True:
            page: Json | None = None
            with _Absence():
                page = _parsed(self._call("GET", path, asked, seconds=seconds, accept=accept))
            yield page or {}
            following = text(page, "metadata", "continue")
            if not following:
                return
            asked["continue"] = following

    def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, object] | None = None,
        content_type: str = "application/json",
        *,
        seconds: float | None = None,
        accept: str = _PLAIN,
    ) -> bytes:
        client = api_client(self.connection)
        url, headers = self._address(path, query), self._headers(accept) | {"Content-Type": content_type}
        patience = (CONNECT_S, self.connection.answer_s if seconds is None else seconds)
        with self._answering():
            answer = client.call_api(method, url, headers, body, _request_timeout=patience)
            content = bytes(answer.response.data)
        if 200 <= answer.status < 300:
            return content
        raise _refusal(self.connection.server, answer.status, content)

    def _address(self, path: str, query: Mapping[str, str]) -> str:
        return self.connection.server.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")

    def _headers(self, accept: str = _PLAIN) -> dict[str, str]:
        headers = {"Accept": accept, "User-Agent": "steelyard"}
        return headers | ({"Authorization": f"Bearer {self.connection.token}"} if self.connection.token else {})

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Whatever keeps an answer from coming is one kind of error."""
        try:
            yield
        except NotReached as error:
            raise DriverUnavailable(f"{self.connection.server} is not called: {error.message}") from error
        except (ApiException, urllib3.exceptions.HTTPError, OSError) as error:
            raise DriverUnavailable(f"{self.connection.server} does not answer: {_why(error)}") from error


def api_client(connection: Connection) -> ApiClient:
    """The official client for a cluster: one per process, and anew when the cluster is reached otherwise."""
    return _client(connection, os.getpid())


@lru_cache(_KEPT)
def _client(connection: Connection, _: int) -> ApiClient:
    configuration = Configuration(host=connection.server.rstrip("/"), retries=0)
    if connection.token:
        configuration.api_key = {"BearerToken": connection.token}
        configuration.api_key_prefix = {"BearerToken": "Bearer"}
    client = ApiClient(configuration)
    client.user_agent = "steelyard"
    # Its own pool would want certificates as files, for as long as it lives.
    client.rest_client.pool_manager = guarded_pools(
        maxsize=_SOCKETS,
        retries=False,
        ssl_context=tls_context(connection),
        server_hostname=connection.server_name or None,
    )
    return client


@lru_cache(_KEPT)
def tls_context(connection: Connection) -> ssl.SSLContext:
    """What the server's certificate is checked against, and who we are. Raises DriverUnavailable for a bad PEM text."""
    try:
        context = ssl.create_default_context(cadata=connection.ca_pem or None)
        if connection.client_certificate_pem:
            _present(context, connection)
    except (ssl.SSLError, ValueError) as error:
        raise DriverUnavailable(f"The certificates for {connection.server} cannot be read: {error}") from error
    return context


def _present(context: ssl.SSLContext, connection: Connection) -> None:
    """OpenSSL takes a certificate from a file alone: it lies in a folder of ours for this instant."""
    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
        file = Path(folder) / "client.pem"
        file.touch(mode=0o600)
        file.write_text(f"{connection.client_certificate_pem}\n{connection.client_key_pem}\n")
        context.load_cert_chain(file, password=_no_password)


def _no_password() -> str:
    """Asked for an encrypted key. Without it OpenSSL would ask at the terminal."""
    return ""


def _parsed(content: bytes) -> Json | None:
    try:
        found = orjson.loads(content)
    except ValueError as error:
        raise DriverUnavailable("The API server's answer was not JSON.") from error
    return found if isinstance(found, dict) else None


class _Absence(AbstractContextManager[None]):
    """What is not there is an answer, not an error."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        return isinstance(error, Refused) and error.status == 404


def _refusal(server: str, status: int, content: bytes) -> Exception:
    """What an answer other than 2xx means. Only what the request itself got wrong is a refusal."""
    try:
        said = part({"it": orjson.loads(content)}, "it")
    except ValueError:
        said = {}
    message = text(said, "message") or content[:300].decode(errors="replace").strip() or f"HTTP {status}"
    if status == 401:
        return Unauthorized(f"{server} does not accept our credentials: {message}")
    if status == 403 and " cannot " in message:
        return Forbidden(f"The platform's account lacks a right on the cluster: {message}")
    misfit = status == 500 and "failed to create typed patch object" in message  # its word for an unknown field
    if misfit or (400 <= status < 500 and status not in (408, 429)):
        return Refused(status, text(said, "reason"), message)
    return DriverUnavailable(f"{server} answers {status}: {message}")


def _why(error: BaseException) -> str:
    """One short clause; the texts of urllib3 name objects and addresses in memory."""
    deepest: BaseException = error
    while (inner := getattr(deepest, "reason", None) or deepest.__cause__) and isinstance(inner, BaseException):
        deepest = inner
    if isinstance(deepest, TimeoutError | urllib3.exceptions.TimeoutError):
        return "no answer in time"
    if found := _CERTIFICATE.search(str(error)):
        return f"its certificate is not the expected one ({found[1]})"
    if isinstance(deepest, ConnectionRefusedError | urllib3.exceptions.NewConnectionError):
        return "the connection was refused"
    return str(deepest.args[-1] if deepest.args else deepest)[:200] or type(deepest).__name__
