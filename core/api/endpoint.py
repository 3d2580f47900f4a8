"""The base of every endpoint: checks before the method runs, and the house's ways to answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from time import perf_counter
from typing import ClassVar, TypeVar, cast

from django.conf import settings
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from core import idempotency, scope
from core.api import limits, metrics, pages, versions
from core.api.errors import TooLarge, TooManyRequests
from core.api.inputs import Filters, Input
from core.api.rendering import JSON, JsonRenderer, dumps
from core.api.shapes import PAGING, Contract, contract_of
from core.errors import FieldError, Invalid
from core.types import Actor

T = TypeVar("T")
M = TypeVar("M", bound=Model)
R = TypeVar("R")
Handler = Callable[..., HttpResponseBase]

_SAFE = frozenset({"GET", "HEAD"})
_STORED_HEADERS = ("Content-Type", "Location", "ETag")


class Answer(HttpResponse):
    """A JSON answer. `to_store` is what idempotency keeps of it: the same without secrets.

    `kept` False: nothing was done, so a key that came with the request stays unspent.
    """

    def __init__(
        self,
        data: object = None,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        secrets: Sequence[str] = (),
        kept: bool = True,
    ) -> None:
        body = b"" if status in (204, 304) else dumps(data)
        super().__init__(body, status=status, content_type=JSON, headers=dict(headers or {}))
        if status in (204, 304):
            del self["Content-Type"]
        self.to_store = _without(data, secrets) if secrets else body
        self.kept = kept


class Endpoint(APIView):
    """One address. Each method carries `@route` (who may, how audit names it) and `@shape` (what goes in and out)."""

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    needs_organization: ClassVar[bool] = True
    produces: ClassVar[tuple[str, ...]] = ()
    """Media types besides JSON that the methods answer with."""

    moment: datetime
    """The one instant of this request."""

    @property
    def actor(self) -> Actor:
        return cast(Actor, self.request._request.actor)  # type: ignore[attr-defined]

    def read(self, shape: type[Input[T]]) -> T:
        """The body as the shape's dataclass. Raises Invalid."""
        found = shape.value_of(self.request.data)
        if self.request.method == "PATCH" and not self.request.data:
            raise Invalid([FieldError("", "empty", "Nothing to change: name at least one field.")])
        return found

    def filters(self, shape: type[Filters[T]]) -> T:
        """The query fields as the shape's dataclass. Raises Invalid."""
        return shape.of_query(self.request._request.GET, besides=PAGING)

    def expected_version(self) -> int | None:
        """The row version that If-Match names, for a service to compare under its lock."""
        return versions.expected(self.request.headers.get("If-Match"))

    def page(self, rows: QuerySet[M, R], present: Callable[[Sequence[R]], Sequence[object]]) -> HttpResponse:
        """A page of a query set, newest first. `present` gets the whole page, so that it may look things up at once."""
        page = pages.cut(rows, pages.asked(self.request._request.GET))
        return Answer(pages.envelope(self.request._request, page, present(page.rows)))

    def answer(self, data: object, *, secrets: Sequence[str] = (), kept: bool = True) -> HttpResponse:
        """200. `secrets` names fields that are shown this once and never stored; `kept` False: nothing was done."""
        return Answer(data, secrets=secrets, kept=kept)

    def whole(self, results: Sequence[object]) -> HttpResponse:
        """A list that is short by nature and at hand, paged like every list."""
        page = pages.cut_whole(results, self.request._request.GET)
        return Answer(pages.envelope(self.request._request, page, page.rows))

    def one(self, version: int | str, build: Callable[[], object]) -> HttpResponse:
        """An object with its ETag; 304, without building it, where the caller has this version already."""
        headers = {"ETag": versions.etag(version)}
        if self.request.method in _SAFE and versions.matches(self.request.headers.get("If-None-Match"), version):
            return Answer(status=304, headers=headers)
        return Answer(build(), headers=headers)

    def tagged(self, answer: HttpResponse, *, version: int | None = None) -> HttpResponse:
        """An answer under an ETag of its content: for lists, and for what has no version; 304 where it is known.

        `version`: of what people set of it, where the rest changes by itself; If-Match then asks for that alone.
        """
        content = answer.content
        tag = versions.fingerprint(content) if version is None else versions.with_content(version, content)
        headers = {"ETag": versions.etag(tag)}
        if self.request.method in _SAFE and versions.matches(self.request.headers.get("If-None-Match"), tag):
            return Answer(status=304, headers=headers)
        answer.headers["ETag"] = headers["ETag"]
        return answer

    def created(
        self, data: object, *, location: str, version: int | str | None = None, secrets: Sequence[str] = ()
    ) -> HttpResponse:
        """201. `secrets` names fields that are shown this once and never stored."""
        return Answer(data, status=201, headers=_headers(location, version), secrets=secrets)

    def accepted(
        self, data: object, *, location: str, version: int | str | None = None, secrets: Sequence[str] = ()
    ) -> HttpResponse:
        """202: the wish is written down."""
        return Answer(data, status=202, headers=_headers(location, version), secrets=secrets)

    def nothing(self) -> HttpResponse:
        return Answer(status=204)

    def as_platform(self, act: Callable[[], HttpResponse]) -> HttpResponseBase:
        """Do an act of the platform in its scope, once for an Idempotency-Key. For methods declared unscoped, which
        ask the network before it."""
        with scope.of_platform():
            return act() if self._attempt is None else self._once(self._attempt, act)

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        started = perf_counter()
        self.args, self.kwargs = args, kwargs
        self.moment = timezone.now()
        self.headers = {}
        self._attempt: idempotency.Attempt | None = None
        self.request = self.initialize_request(request, *args, **kwargs)
        try:
            response = self._answer(self.request, **kwargs)
        except Exception as error:  # every error becomes an answer, by the one table of the portal
            response = self.handle_exception(error)
        response = self._finished(self.request, response)
        match = request.resolver_match
        metrics.observe(
            route=match.route if match else "",
            method=request.method or "",
            status=response.status_code,
            seconds=perf_counter() - started,
        )
        return response

    def get_renderers(self) -> list[BaseRenderer]:
        return [JsonRenderer(), *(_renderer_of(media_type) for media_type in self.produces)]

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {}

    def _finished(self, request: Request, response: HttpResponseBase) -> HttpResponseBase:
        for name, value in self.headers.items():
            response.headers[name] = value
        response.headers.setdefault("Cache-Control", "private, no-cache" if request.method in _SAFE else "no-store")
        response.headers.setdefault("Vary", "Accept, Authorization, Cookie")
        return response

    def _answer(self, request: Request, **kwargs: object) -> HttpResponseBase:
        handler: Handler | None = getattr(self, (request.method or "").lower(), None)
        if handler is None or (request.method or "").lower() not in self.http_method_names:
            raise MethodNotAllowed(request.method or "")
        self._count(request)
        self.initial(request, **kwargs)
        self._check_query(handler)
        if request.method in _SAFE:
            return handler(request, **kwargs)
        self._check_body(request, contract_of(handler))
        key = request.headers.get("Idempotency-Key")
        if request.method != "POST" or key is None:
            return handler(request, **kwargs)
        self._attempt = self._attempt_under(key, request)
        if scope.current() is not None:
            return self._once(self._attempt, lambda: handler(request, **kwargs))
        with scope.of_platform():  # the act opens it again, when it has asked the network
            kept = idempotency.begin(self._attempt, now=self.moment)
        return handler(request, **kwargs) if kept is None else _replayed(kept)

    def _count(self, request: Request) -> None:
        actor = self.actor
        who = actor.token_id or actor.id or request.META.get("REMOTE_ADDR", "")
        allowance = limits.spend(str(who))
        if allowance is None:
            return
        self.headers.update(allowance.headers())
        if allowance.exhausted:
            raise TooManyRequests(
                f"More than {allowance.limit} requests in this minute.", retry_after_seconds=allowance.reset_seconds
            )

    def _check_query(self, handler: Handler) -> None:
        query = self.request._request.GET
        if not query:
            return
        known: frozenset[str] = getattr(handler, "query_names", frozenset())
        errors = [
            FieldError(name, "unknown_filter", f"There is no query field {name} here.")
            for name in query
            if name not in known
        ]
        errors += [
            FieldError(name, "given_twice", "Give this query field once.")
            for name in query
            if name in known and len(query.getlist(name)) > 1
        ]
        if errors:
            raise Invalid(errors)

    def _check_body(self, request: Request, contract: Contract | None) -> None:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isdigit() and int(length) > settings.API_BODY_LIMIT_BYTES:
            raise TooLarge(f"A body holds at most {settings.API_BODY_LIMIT_BYTES} bytes.")
        body = request._request.body
        if contract is not None and contract.input is None and body and request.data:
            raise Invalid([FieldError("", "unknown_field", "This act takes no body.")])

    def _attempt_under(self, key: str, request: Request) -> idempotency.Attempt:
        assert self.actor.organization_id is not None
        assert self.actor.id is not None
        return idempotency.attempt(
            organization_id=self.actor.organization_id,
            actor_id=self.actor.id,
            key=key,
            method=request.method or "",
            path=request.get_full_path(),
            body=request._request.body,
        )

    def _once(self, attempt: idempotency.Attempt, act: Callable[[], HttpResponseBase]) -> HttpResponseBase:
        """Run the act once per key, inside the transaction that is open."""
        kept = idempotency.begin(attempt, now=self.moment)
        if kept is not None:
            return _replayed(kept)
        response = act()
        if 200 <= response.status_code < 300 and getattr(response, "kept", True):
            idempotency.store(attempt, _to_keep(response), now=self.moment)
        return response


def _replayed(kept: idempotency.StoredAnswer) -> HttpResponse:
    return HttpResponse(kept.body, status=kept.status, headers={**kept.headers, "Idempotency-Replayed": "true"})


def _to_keep(response: HttpResponseBase) -> idempotency.StoredAnswer:
    headers = {name: response.headers[name] for name in _STORED_HEADERS if name in response.headers}
    body = response.to_store if isinstance(response, Answer) else getattr(response, "content", b"")
    return idempotency.StoredAnswer(response.status_code, headers, body.decode())


def _without(data: object, secrets: Sequence[str]) -> bytes:
    assert isinstance(data, Mapping)
    return dumps({name: value for name, value in data.items() if name not in secrets})


def _headers(location: str, version: int | str | None) -> dict[str, str]:
    found = {"Location": location}
    if version is not None:
        found["ETag"] = versions.etag(version)
    return found


def _renderer_of(media: str) -> BaseRenderer:
    """Negotiation needs a renderer by each media type; the methods render by themselves."""
    renderer = JsonRenderer()
    renderer.media_type = media
    renderer.format = media.rpartition("/")[2]
    return renderer
